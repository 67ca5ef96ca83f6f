"""Gridworld-FurnMove: how many components SYNC's mixture needs (A Cordial Sync, tables 3 and 7).

    python tune_experiments/furnmove_mixture_size.py --seeds 0 1 2

A joint policy of m product policies has rank at most m; one component is `marginal`, trained as in the paper. The paper
finds that more components move further from rank one (TVD) and succeed more often, with most of
the gain from one to two.
"""

import sys

from tune_experiments.cordial_sync.gridworld import GridworldExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison


class FurnmoveMixtureSize(GridworldExperiment):
    """Mixtures of 1, 2, 4 and 13 components."""

    name = "furnmove_mixture_size"
    caption = "Gridworld-FurnMove: components of SYNC's mixture"
    main = MainComparison("sync_13_cordial", "sync_2_cordial", "success")
    rows = ("marginal", "sync_2_cordial", "sync_4_cordial", "sync_13_cordial")
    smoke_rows = ("sync_2_cordial",)


EXPERIMENT = FurnmoveMixtureSize()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
