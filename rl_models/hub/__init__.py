"""Pretrained models by name: which there are, how they get onto this machine, where they lie."""
