"""Gridworld-FurnMove with three agents (A Cordial Sync, tables 1 and 5, section 6.3).

    python tune_experiments/furnmove_three_agents.py --seeds 0 1 2

Of 2,197 joint actions 46 are coordinated, and bringing the television closer pays two instead of one. The paper finds
that marginal teams never learn this, SYNC does, and a central policy does worse than SYNC because of its large output.
"""

import sys

from tune_experiments.cordial_sync.gridworld import GridworldExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison


class FurnmoveThreeAgents(GridworldExperiment):
    """Three kinds of teams, each of three agents."""

    name = "furnmove_three_agents"
    caption = "Gridworld-FurnMove: three agents"
    main = MainComparison("sync_13_cordial", "marginal", "success")
    rows = ("marginal", "sync_13_cordial", "central_cordial")
    num_agents = 3
    smoke_rows = ("sync_13_cordial", "central_cordial")


EXPERIMENT = FurnmoveThreeAgents()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
