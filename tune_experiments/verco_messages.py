"""Verco's figure 6: an episode of two cooks with all that they told each other, as a video and as a transcript.

    python tune_experiments/verco_messages.py                               # trains, then plays: minutes on 2 cores
    python tune_experiments/verco_messages.py --task secret_order           # the order that only Alice knows
    python tune_experiments/verco_messages.py --preset smoke                # under 2 minutes, learns nothing

The run's folder `videos` holds the GIF and the Markdown transcript, in which every decision stands beside what its cook
saw and heard. Runs of `verco_salad` leave both files for each of their rows; its header says what the default language
model has read.
"""

from __future__ import annotations

import dataclasses
import sys

from tune_experiments.launch.experiment import main
from tune_experiments.verco_salad import PRESETS, VercoSalad


class VercoMessages(VercoSalad):
    """One method, to be watched and read."""

    name = "verco_messages"
    caption = "Verco's messages in the salad kitchen"
    presets = {name: dataclasses.replace(config, methods=("verco",)) for name, config in PRESETS.items()}


EXPERIMENT = VercoMessages()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
