"""SAMA's planner: a language model sets goals, assigns sub-goals to agents, tests them, and reflects.

Texts in, typed records out: states are texts, plans are small checked records, rewards are functions that return 0 or
1. Nothing here imports torch, Ray or an environment; an experiment passes a `domain.Domain`, which describes the game.
SAMA: Li et al., "Semantically Aligned Task Decomposition in Multi-Agent Reinforcement Learning".
"""
