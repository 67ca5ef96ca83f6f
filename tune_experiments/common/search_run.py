"""An experiment's search, `--search 12`: which trials it trains, and what it says at the end.

Every method is tried with as many settings as every other, so a baseline gets the care that a new method gets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tune_experiments.common.command_line import RunOptions
from tune_experiments.common.config_path import flags_between
from tune_experiments.common.errors import UserError
from tune_experiments.common.experiment import Experiment
from tune_experiments.common.outcome import outcome_of
from tune_experiments.common.run_folder import RunFolder
from tune_experiments.common.search import SearchSpace, Setting, draw_settings
from tune_experiments.common.search_folder import (
    Ranked,
    Settings,
    claim_for_search,
    command,
    rank,
    score,
    write_ranking,
)
from tune_experiments.common.tuning import Request, request_for

_SEEDS_OF_A_FULL_RUN = 3


@dataclasses.dataclass(frozen=True)
class Search:
    """A search that has been drawn.

    Attributes:
        space: where from.
        settings: method -> what is tried with it.
    """

    space: SearchSpace
    settings: Settings


def draw_search(experiment: Experiment, config: Any, options: RunOptions) -> Search:
    """Draw the settings of every method.

    Raises:
        UserError: the experiment has no search space, or one that holds no so many settings.
    """
    if experiment.search_space is None:
        raise UserError(f"{experiment.name} has no search space for --search to draw from; vary its flags yourself")
    space, count = experiment.search_space(), options.search or 1
    methods = experiment.methods(config)
    return Search(
        space, {method: draw_settings(space, config, method, count, options.search_seed) for method in methods}
    )


def search_requests(experiment: Experiment, search: Search, options: RunOptions, folder: RunFolder) -> list[Request]:
    """Trials without a test, every method's first settings first; claims the folder for the search."""
    claim_for_search(folder.path, search.settings, options.search_seed, search.space.objective)
    return [
        request_for(experiment.name, setting.config, method, seed, folder.trial(_name(method, setting, seed)), False)
        for together in zip(*search.settings.values(), strict=True)
        for method, setting in zip(search.settings, together, strict=True)
        for seed in options.seeds
    ]


def show_ranking(
    experiment: Experiment, search: Search, options: RunOptions, folder: RunFolder, console: Console
) -> None:
    """Rank what has finished, write it down and say for each method which setting won."""
    objective, script = search.space.objective, f"tune_experiments/{experiment.name}.py"
    ranking = {
        method: rank(_finished(experiment, method, tried, options, folder.path / "trials", objective))
        for method, tried in search.settings.items()
    }
    write_ranking(folder.path, experiment.caption, objective, ranking, script)
    for method, ranked in ranking.items():
        for line in _verdict(method, ranked, objective, script):
            console.print(line, highlight=False, markup=False)
    console.print(f"wrote {folder.path / 'search.md'}", highlight=False)


def _verdict(method: str, ranked: Sequence[Ranked], objective: str, script: str) -> list[str]:
    if not ranked:
        return [f"{method}: no setting has finished"]
    best = ranked[0]
    own = next((f", setting 0 has {one.score:.4f}" for one in ranked[1:] if one.setting.number == 0), "")
    return [
        f"{method}: setting {best.setting.number} is the best of {len(ranked)}: {objective} {best.score:.4f}{own}",
        f"  {command(script, best)}",
    ]


def _finished(
    experiment: Experiment, method: str, tried: Sequence[Setting], options: RunOptions, trials: Path, objective: str
) -> list[Ranked]:
    found = []
    for setting in tried:
        folders = {seed: trials / _name(method, setting, seed) for seed in options.seeds}
        if all(outcome_of(folder) is not None for folder in folders.values()):
            by_seed = {seed: score(folder, objective) for seed, folder in folders.items()}
            found.append(Ranked(setting, by_seed, _flags(experiment.presets, setting.config, method, options)))
    return found


def _flags(presets: Mapping[str, Any], config: Any, method: str, options: RunOptions) -> tuple[str, ...]:
    """Of a full run of one method, with seeds that did not take part in the choice."""
    if any(field.name == "methods" for field in dataclasses.fields(config)):
        config = dataclasses.replace(config, methods=(method,))
    seeds = range(max(options.seeds) + 1, max(options.seeds) + 1 + _SEEDS_OF_A_FULL_RUN)
    changes = flags_between(presets[options.preset], config)
    return "--preset", options.preset, *changes, "--seeds", *map(str, seeds), "--out", f"runs/{method}_of_search"


def _name(method: str, setting: Setting, seed: int) -> str:
    return f"{method}-setting{setting.number:02}-seed{seed}"
