"""Gridworld-FurnMove: CORDIAL against an entropy bonus for every kind of team (A Cordial Sync, tables 4 and 8).

    python tune_experiments/furnmove_cordial.py --seeds 0 1 2

CORDIAL pushes probability onto coordinated joint actions. The paper finds that it helps SYNC and central teams, which
can spread over all of them at once, and hurts marginal teams, whose product of policies cannot.

A family has one learning rate: that of marginal teams was chosen with an entropy bonus, that of SYNC with CORDIAL.
"""

import sys

from tune_experiments.cordial_sync.gridworld import GridworldExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison


class FurnmoveCordial(GridworldExperiment):
    """Three kinds of teams, each with an entropy bonus and with CORDIAL."""

    name = "furnmove_cordial"
    caption = "Gridworld-FurnMove: with and without CORDIAL"
    main = MainComparison("sync_13_cordial", "sync_13", "success")
    rows = ("marginal", "marginal_cordial", "sync_13", "sync_13_cordial", "central", "central_cordial")
    smoke_rows = ("marginal_cordial",)


EXPERIMENT = FurnmoveCordial()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
