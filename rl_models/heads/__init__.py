"""Heads: features in, distributions and values out."""
