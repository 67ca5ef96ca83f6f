"""Overcooked's kitchens for SAMA's planner: texts, rules instead of a language model, chefs that learn commands.

States are the environment's sentences, read by its own parser.
"""
