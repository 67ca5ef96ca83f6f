"""Verco's experiments in the salad kitchen: what the scripts share."""
