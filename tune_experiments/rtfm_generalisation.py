"""The full Read to Fight Monsters with unseen assignments and in a larger room (RTFM, table 3).

    python tune_experiments/rtfm_generalisation.py                      # laptop: hours on 2 cores
    python tune_experiments/rtfm_generalisation.py --preset smoke       # under 2 minutes, learns nothing
    python tune_experiments/rtfm_generalisation.py --preset paper       # 250 million frames a row: a GPU, days

Both methods are trained in the whole curriculum of `rtfm_curriculum.py` and differ in the room of its last stage.
Columns are training assignments, unseen ones, unseen ones in the larger room, and documents of other episodes. A second
table has the win rates at the end of the earlier stages.
"""

import dataclasses
import sys

from tune_experiments.launch.experiment import main
from tune_experiments.rtfm.reading_experiments import ReadingInStages
from tune_experiments.rtfm_curriculum import PRESETS, TABLE_2

LAPTOP, PAPER = (
    dataclasses.replace(PRESETS[name], methods=("trained_on_6x6", "trained_on_10x10")) for name in ("laptop", "paper")
)
SMOKE = dataclasses.replace(PRESETS["smoke"], methods=("trained_on_10x10",))
TABLE_3 = {
    "trained_on_6x6": {"train_6x6": 0.65, "eval_6x6": 0.55, "eval_10x10": 0.55},
    "trained_on_10x10": {"train_10x10": 0.61, "eval_10x10": 0.43},
}


class RtfmGeneralisation(ReadingInStages):
    """The whole curriculum, whose last stage is in one of two rooms."""

    name = "rtfm_generalisation"
    caption = "RTFM: win rates in the full game on training assignments and on unseen ones"
    compared = (("trained_on_10x10", "trained_on_6x6"),)
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    paper = TABLE_3
    transfers = TABLE_2


EXPERIMENT = RtfmGeneralisation()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
