"""Overcooked's kitchens for SAMA's planner: words, rules in the place of a language model, chefs who learn commands.

States are the world's sentences, read by its own parser; ways and places are those of its `Kitchen`.
"""
