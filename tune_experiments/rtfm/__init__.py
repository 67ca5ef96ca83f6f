"""What the experiments on Read to Fight Monsters share: `reading_experiments.py` makes each of them."""
