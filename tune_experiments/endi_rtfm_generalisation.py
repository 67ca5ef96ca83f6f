"""EnDi's ablations on unseen assignments, words and rooms of multi-agent RTFM (EnDi, 2023, table 2).

    python tune_experiments/endi_rtfm_generalisation.py                      # laptop: S1 to S5, hours on 2 cores
    python tune_experiments/endi_rtfm_generalisation.py --preset smoke       # under 2 minutes, learns nothing
    python tune_experiments/endi_rtfm_generalisation.py --preset paper       # 215 million frames a row: a GPU, weeks

Methods: EnDi(dis), without agent modelling, without a regulariser. Columns: training assignments; Eval, unseen ones;
Eval(new), with words that training never shows, whose vectors keep their initial values; Eval 10 x 10,
unseen assignments in a larger room; and documents of other episodes.
"""

import dataclasses
import sys

from tune_experiments.endi.rtfm_config import MethodName
from tune_experiments.endi.rtfm_experiments import EndiRtfmExperiment
from tune_experiments.endi_rtfm import PAPER_NUMBERS
from tune_experiments.endi_rtfm import PRESETS as OF_CURRICULUM
from tune_experiments.launch.experiment import main

STAGES = (1, 2, 3, 4, 5)
ROWS: tuple[MethodName, ...] = ("endi_sup", "endi_reg", "endi_dis")
PRESETS = {"smoke": dataclasses.replace(OF_CURRICULUM["smoke"], methods=("endi_sup",))} | {
    name: dataclasses.replace(OF_CURRICULUM[name], stages=STAGES, methods=ROWS) for name in ("laptop", "paper")
}


class EndiRtfmGeneralisation(EndiRtfmExperiment):
    """EnDi(dis), with and without agent modelling and a regulariser."""

    name = "endi_rtfm_generalisation"
    caption = "Multi-agent RTFM: win rates of EnDi's ablations on what training never showed"
    presets = PRESETS
    compared = ("endi_dis", "endi_reg")
    paper = PAPER_NUMBERS


EXPERIMENT = EndiRtfmGeneralisation()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
