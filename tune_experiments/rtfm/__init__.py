"""Shared code of the experiments on Read to Fight Monsters: `reading_experiments.py` makes each of them."""
