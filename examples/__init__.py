"""A world, a network, a loss and an experiment of one's own: everything that a package outside Concord needs.

    python -m tune_experiments examples.corridor_experiment:EXPERIMENT --preset smoke

* `corridor.py`: a world.
* `talking_network.py`: a network.
* `agreement_loss.py`: a loss.
* `dual_clip.py`: an algorithm, PPO with another surrogate.
* `corridor_experiment.py`: an experiment that trains the three with SYNC; `short_experiment.py`: one in 15 lines.

Copy the folder, rename it, and nothing of Concord has to change.
"""
