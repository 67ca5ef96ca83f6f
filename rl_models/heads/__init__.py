"""Heads: they turn the features of a network into joint policies and values."""
