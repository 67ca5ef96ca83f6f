"""Verco's figure 6: an episode of two cooks with all messages, as a video and as a transcript.

    python tune_experiments/verco_messages.py                               # trains, then records: minutes on 2 cores
    python tune_experiments/verco_messages.py --task secret_order           # an order that only Alice observes
    python tune_experiments/verco_messages.py --preset smoke                # under 2 minutes, learns nothing

The run's folder `videos` holds the GIF and the Markdown transcript, which shows every decision with its cook's
observation and received message. Runs of `verco_salad` write both files for each method; its header describes the
corpus of the default language model.
"""

import dataclasses
import sys

from tune_experiments.launch.experiment import main
from tune_experiments.verco_salad import PRESETS, VercoSalad


class VercoMessages(VercoSalad):
    """One method, with a video and a transcript."""

    name = "verco_messages"
    caption = "Verco's messages in the salad kitchen"
    presets = {name: dataclasses.replace(config, methods=("verco",)) for name, config in PRESETS.items()}


EXPERIMENT = VercoMessages()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
