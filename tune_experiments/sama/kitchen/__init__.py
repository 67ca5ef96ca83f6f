"""Rules for planning in Overcooked's kitchens: what a good planner would answer, computed without a language model.

States are the world's sentences, read by its own parser; ways and places are those of its `Kitchen`.
"""
