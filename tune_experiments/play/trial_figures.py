"""Figures of all experiments: learning curves of a run, and drawings of each method's team."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.play.loading import LoadedPolicy, first_checkpoint, load_policy
from tune_experiments.results import plots
from tune_experiments.results.trial_log import find_logs

Trials: TypeAlias = Mapping[str, Mapping[int, Path]]
"""Method -> seed -> folder."""
Draw: TypeAlias = Callable[[str, LoadedPolicy], Path | Iterable[Drawn]]
"""Method and team -> the file that was written, or files one after another."""


def draw_curves(
    out: Path, trials: Trials, curves: Mapping[str, str], bins: int, name: str = "curves", **options: Any
) -> Iterator[Drawn]:
    """Learning curves of all methods in one figure; none before the first log."""

    def draw() -> Iterator[Path]:
        if runs := find_logs(trials):
            yield plots.save(plots.learning_curves(runs, curves, bins, **options), out / f"plots/{name}.png")

    yield from attempt(name, draw)


def draw_teams(trials: Trials, draws: Mapping[str, Draw]) -> Iterator[Drawn]:
    """Figures and videos of each method's first trained seed, by name, such as "video"; as for `trained_teams`."""

    def of(method: str) -> Iterator[Drawn]:
        for _, team in trained_teams({method: trials[method]}):
            for what, draw in draws.items():
                yield from attempt(f"{what} of {method}", functools.partial(draw, method, team))

    for method in trials:
        yield from attempt(f"{' and '.join(draws)} of {method}", functools.partial(of, method))


def trained_teams(trials: Trials) -> Iterator[tuple[str, LoadedPolicy]]:
    """Each method that has a checkpoint yet, with the team of its first seed that has one; see `finding.trusting`."""
    for method, seeds in trials.items():
        if (checkpoint := first_checkpoint(seeds)) is not None:
            yield method, load_policy(checkpoint)
