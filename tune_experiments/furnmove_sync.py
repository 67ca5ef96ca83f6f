"""Gridworld-FurnMove: SYNC with CORDIAL against marginal policies, two agents (A Cordial Sync, tables 1 and 5).

    python tune_experiments/furnmove_sync.py                       # laptop: about 6 minutes on 2 cores
    python tune_experiments/furnmove_sync.py --preset smoke        # under 2 minutes, learns nothing
    python tune_experiments/furnmove_sync.py --preset paper        # the paper's sizes: a GPU cluster, days

Two agents carry a television through living rooms that they have never seen. `sync_13_cordial` samples actions from a
mixture of 13 product policies whose component both agents draw from a shared random stream, and is trained with
CORDIAL in place of an entropy bonus. `marginal` samples each agent's action on its own and gets an entropy bonus. Both
talk, and see the same rooms for the same number of env steps. Expect SYNC ahead in success and far lower in invalid
probability. `furnmove_methods.py` compares all methods; settings are in `cordial_sync/config.py`.
"""

import sys

from tune_experiments.cordial_sync.gridworld import GridworldExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison


class FurnmoveSync(GridworldExperiment):
    """SYNC with CORDIAL, and marginal policies."""

    name = "furnmove_sync"
    caption = "Gridworld-FurnMove: two agents carry a television through rooms that they have never seen"
    main = MainComparison("sync_13_cordial", "marginal", "success")
    rows = ("sync_13_cordial", "marginal")


EXPERIMENT = FurnmoveSync()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
