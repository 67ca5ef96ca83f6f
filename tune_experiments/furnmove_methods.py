"""Gridworld-FurnMove: how a team samples its actions, two agents (A Cordial Sync, tables 1 and 5).

    python tune_experiments/furnmove_methods.py --seeds 0 1 2      # laptop
    python tune_experiments/furnmove_methods.py --methods sync_4 central --learner.algorithm impala

Methods, from the least to the most expressive team: agents without messages, agents that exchange messages and act
independently, SYNC agents that exchange messages and draw one of 13 product policies together, and a central policy
that observes everything and draws joint actions. As in the paper, the last two are trained with CORDIAL, the first two
with an entropy bonus. `--methods` takes any of the fourteen methods, here as in every FurnMove experiment.
"""

import sys

from tune_experiments.cordial_sync.gridworld import GridworldExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison


class FurnmoveMethods(GridworldExperiment):
    """Methods from the least to the most expressive team."""

    name = "furnmove_methods"
    caption = "Gridworld-FurnMove: what a team can express, two agents"
    main = MainComparison("sync_13_cordial", "marginal", "success")
    rows = ("no_communication", "marginal", "sync_13_cordial", "central_cordial")
    smoke_rows = ("no_communication", "central_cordial")


EXPERIMENT = FurnmoveMethods()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
