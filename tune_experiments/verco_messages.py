"""Verco's figure 6: an episode of two cooks with all that they told each other, as a film and as a transcript.

    python tune_experiments/verco_messages.py                               # trains, then films: minutes on 2 cores
    python tune_experiments/verco_messages.py --task secret_order           # the order that only Alice knows
    python tune_experiments/verco_messages.py --preset smoke                # under 2 minutes, learns nothing

The run's folder `videos` holds the GIF and the Markdown transcript, in which every decision stands beside what its cook
saw and heard. Runs of `verco_salad` leave both files for each of their rows.
"""

from __future__ import annotations

import dataclasses
import sys

from tune_experiments import verco_salad
from tune_experiments.run.main import main
from tune_experiments.verco.tables import tables

CAPTION = "Verco's messages in the salad kitchen"
ROWS = ("verco",)
EXPERIMENT = dataclasses.replace(
    verco_salad.EXPERIMENT,
    name="verco_messages",
    caption=CAPTION,
    presets={name: dataclasses.replace(config, methods=ROWS) for name, config in verco_salad.PRESETS.items()},
    tables=lambda results: tables(results, CAPTION),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
