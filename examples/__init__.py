"""A custom world, network, loss, algorithm and experiment, in a package outside Concord.

    python -m tune_experiments examples.corridor_experiment:EXPERIMENT --preset smoke

* `corridor.py`: a world.
* `talking_network.py`: a network.
* `agreement_loss.py`: a loss.
* `dual_clip.py`: an algorithm, PPO with dual clipping.
* `corridor_experiment.py`: an experiment that trains the three with SYNC; `short_experiment.py`: one in 15 lines.

To start your own package, copy this folder and rename it.
"""
