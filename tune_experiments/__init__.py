"""Experiments: one file each, named after what it reproduces."""
