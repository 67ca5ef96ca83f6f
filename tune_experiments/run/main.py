"""The command line of every experiment script: flags in, exit code out; `launch.py` does what they say."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.errors import exits_with_one_sentence
from tune_experiments.run.launch import launch


@exits_with_one_sentence
def main(experiment: BaseExperiment, arguments: Sequence[str] | None = None) -> int:
    """Train every method with every seed, evaluate it, and leave table, plots and videos in the run folder.

    With `--search` instead: try settings of every method and leave their ranking.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    words = sys.argv[1:] if arguments is None else arguments
    config, options = parse(experiment.presets, words, experiment.caption, experiment.seeds)
    return 1 if launch(experiment, config, options).failures else 0
