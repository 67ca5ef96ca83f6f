"""MiniRTS for SAMA's planner: words, rules in the place of a language model, play in rounds, tests.

States are the world's sentences with one line more, read by the world's own parser.
"""
