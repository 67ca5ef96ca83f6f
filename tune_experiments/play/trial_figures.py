"""Learning curves of a run, and the trained team of each method: what the figures of all experiments begin with.

This file must not know about any experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tune_experiments.play.loading import LoadedPolicy, chosen_checkpoint, load_policy
from tune_experiments.results import plots
from tune_experiments.results.trial_log import logs_of

Trials: TypeAlias = Mapping[str, Mapping[int, Path]]
"""Method -> seed -> folder."""


def draw_curves(out: Path, trials: Trials, curves: Mapping[str, str], bins: int, **options: Any) -> Iterator[Path]:
    """The learning curves of all rows in one figure, once there is a log.

    Args:
        out: folder of the run.
        trials: whose logs.
        curves: metric -> what its panel is called.
        bins: points of a curve.
        options: of `plots.learning_curves`.
    """
    if runs := logs_of(trials):
        yield plots.learning_curves(runs, out / "plots/curves.png", curves, bins, **options)


def trained_teams(trials: Trials) -> Iterator[tuple[str, LoadedPolicy]]:
    """Each method with the team of its first seed, of those that have a checkpoint yet.

    Only within `finding.trusting` may they name modules from outside.
    """
    for method, seeds in trials.items():
        if (checkpoint := chosen_checkpoint(next(iter(seeds.values())))) is not None:
            yield method, load_policy(checkpoint)
