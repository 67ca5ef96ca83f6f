"""MiniRTS for SAMA's planner: words, rules instead of a language model, play in rounds, tests.

States are the environment's sentences with one more line, read by its own parser.
"""
