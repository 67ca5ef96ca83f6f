"""MiniRTS for SAMA's planner: texts, rules instead of a language model, the play loop, tests.

States are the environment's sentences with one more line, read by its own parser.
"""
