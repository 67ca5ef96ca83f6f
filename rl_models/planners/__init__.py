"""SAMA's planner: a language model sets goals, assigns sub-goals to agents, tests them, and reflects.

Text in, typed records out: states are texts, plans are small checked records, rewards are functions that say 0 or 1.
Nothing here imports torch, Ray or a world; a world is known through `domain.Domain`, which an experiment
hands in. SAMA: Li et al., "Semantically Aligned Task Decomposition in Multi-Agent Reinforcement Learning".
"""
