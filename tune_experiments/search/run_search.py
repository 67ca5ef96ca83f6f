"""An experiment's search, `--search 12`: which trials it trains, and what it says at the end.

Every method is tried with as many settings as every other, so a baseline gets the care that a new method gets.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import flags_between
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.search_space import DEFAULT_OBJECTIVE, SearchSpace
from tune_experiments.results.intervals import NONE
from tune_experiments.results.rows import Result, replace_rows
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.ray_cluster import check_this_machine
from tune_experiments.run.request import Request, SearchScheduler, request_for
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.search.domains import KINDS, space_over
from tune_experiments.search.folder import (
    Ranked,
    Settings,
    are_of_populations,
    claim_for_search,
    command,
    rank,
    score,
    write_ranking,
)
from tune_experiments.search.population import Population
from tune_experiments.search.scheduler import SearchSchedulers
from tune_experiments.search.settings import Setting, all_settings, draw_settings
from tune_experiments.search.successive_halving import Halving, rungs_of

RUNGS_FILE, POPULATION_FILE = "rungs.json", "population.json"
_SEEDS_OF_A_FULL_RUN = 3


@dataclasses.dataclass(frozen=True)
class Search:
    """A search that has been drawn.

    Attributes:
        space: where from.
        settings: method -> what is tried with it.
        by: how it goes on from there, `--search-by`.
    """

    space: SearchSpace
    settings: Settings
    by: str = "random"


def draw_search(experiment: BaseExperiment[Config], config: Config, options: RunOptions) -> Search:
    """Draw the settings of every method.

    Raises:
        UserError: the experiment has no search space, or one that holds no so many settings.
    """
    declared = experiment.search_space()
    if options.search_over:
        space = space_over(options.search_over, config, declared, _validated_by(experiment))
    elif declared is not None:
        space = declared
    else:
        raise UserError(
            f"{experiment.name} has no search space for --search to draw from; name one with --search-over PATH={KINDS}"
        )
    if options.search_objective is not None:
        space = dataclasses.replace(space, objective=options.search_objective.replace("-", "_"))
    methods = experiment.methods(config)
    return Search(space, {method: _settings(space, config, method, options) for method in methods}, options.search_by)


def _validated_by(experiment: BaseExperiment) -> str:
    """Objective where the experiment has no search space of its own: the first validation metric of its live line."""
    return next((key for key in experiment.columns.values() if key.startswith("valid/")), DEFAULT_OBJECTIVE)


def check_processes(experiment: BaseExperiment, search: Search, options: RunOptions) -> None:
    """Count this machine's CPUs where the search will run here, for a search may vary the processes of a trial.

    Raises:
        UserError: a setting needs more, or PBT would change the processes of trials on their way.
    """
    varied = [path for path in search.space.domains if path.split(".")[0] == "workers"]
    if varied and search.by == "pbt":
        raise UserError(f"--search-by pbt cannot vary {varied[0]}: a copy would need other processes; use random")
    for method, tried in search.settings.items():
        for cpus in {experiment.plan(one.config, method, options.seeds[0], None).workers.cpus for one in tried}:
            check_this_machine(cpus)


def _settings(space: SearchSpace, config: Config, method: str, options: RunOptions) -> list[Setting[Config]]:
    if options.search_by == "grid":
        return all_settings(space, config, method)[: options.search]
    return draw_settings(space, config, method, options.search or 1, options.search_seed)


def scheduler_of(
    experiment: BaseExperiment, search: Search, options: RunOptions, folder: RunFolder
) -> SearchSchedulers | None:
    """Schedulers that decide what is trained; None if all settings are trained to their end."""
    if search.by in ("random", "grid"):
        return None

    def request_of(config: DataclassInstance, method: str, number: int, seed: int, until: int | None) -> Request:
        request = request_for(experiment.entry_point, config, method, seed, folder, _name(method, number, seed), False)
        return request | {"until": until, "setting": number}

    schedulers: list[SearchScheduler] = []
    for method, settings in search.settings.items():
        plan = experiment.plan(settings[0].config, method, options.seeds[0], None)
        budget = plan.budget_env_steps
        if search.by == "asha":
            rungs, objective = rungs_of(budget), search.space.objective
            file = folder.path / RUNGS_FILE
            schedulers.append(Halving(method, settings, options.seeds, rungs, objective, request_of, file))
        else:
            schedulers += [
                Population(
                    method,
                    settings,
                    seed,
                    budget,
                    search.space,
                    options.search_seed,
                    request_of,
                    folder.path / POPULATION_FILE,
                )
                for seed in options.seeds
            ]
    return SearchSchedulers(schedulers)


def search_requests(
    experiment: BaseExperiment, search: Search, options: RunOptions, folder: RunFolder
) -> list[Request]:
    """Trials without a test, every method's first settings first; claims the folder for the search."""
    claim_for_search(folder.path, search.settings, options.search_seed, search.space.objective, search.by)
    return [
        request_for(
            experiment.entry_point, setting.config, method, seed, folder, _name(method, setting.number, seed), False
        )
        for together in itertools.zip_longest(*search.settings.values())
        for method, setting in zip(search.settings, together, strict=True)
        if setting is not None  # a grid has fewer settings for a method that does not use all of its fields
        for seed in options.seeds
    ]


def show_ranking(
    experiment: BaseExperiment,
    search: Search,
    options: RunOptions,
    folder: RunFolder,
    console: Console,
    scheduler: SearchSchedulers | None = None,
) -> None:
    """Rank what has finished, write it down and say for each method which setting won."""
    objective = search.space.objective
    script: str | None = f"-m tune_experiments {experiment.entry_point}"
    trials, remarks = folder.path / "trials", scheduler.remarks() if scheduler is not None else ()
    if search.by == "pbt" and scheduler is not None:
        populations = [one for one in scheduler.schedulers if isinstance(one, Population)]
        ranking = {method: rank(_members(populations, method, trials)) for method in search.settings}
        script = None  # what a winner has learned with changed on its way: no command trains it anew
    else:
        ranking = {
            method: rank(_finished(experiment, method, tried, options, trials, objective))
            for method, tried in search.settings.items()
        }
    write_ranking(folder.path, experiment.caption, objective, ranking, script, remarks)
    replace_rows(folder.results, _validated(experiment, ranking, objective))
    for method, ranked in ranking.items():
        tried = len(search.settings[method]) if search.by == "asha" else len(ranked)
        for line in _verdict(method, ranked, tried, objective, script, trials):
            console.print(line)
    console.print(f"wrote {folder.path / 'search.md'}")


def _validated(experiment: BaseExperiment, ranking: Mapping[str, Sequence[Ranked]], objective: str) -> list[Result]:
    """The scores as lines of results.jsonl, so that settings can be compared like methods."""
    group, _, metric = objective.rpartition("/")
    return [
        Result(
            experiment=experiment.name,
            table=f"Search by {objective}",
            method=f"{method}, setting {one.setting.number}",
            world="validation",
            split=group or "valid",
            seed=seed,
            metric=metric,
            value=value,
            interval=NONE,
        )
        for method, ranked in ranking.items()
        for one in sorted(ranked, key=lambda one: one.setting.number)
        for seed, value in one.by_seed.items()
        if math.isfinite(value)
    ]


def _verdict(
    method: str, ranked: Sequence[Ranked], tried: int, objective: str, script: str | None, trials: Path
) -> list[str]:
    """Which setting won, beside setting 0 of the same seeds; ASHA has `tried` more than it has `ranked`."""
    if not ranked:
        return [f"{method}: no setting has finished"]
    best, *others = ranked
    equals = [one for one in others if one.setting.number == 0 and one.by_seed.keys() == best.by_seed.keys()]
    own = f", setting 0 has {equals[0].score:.4f}" if equals else ""
    seed = next(iter(best.by_seed))
    winner = trials / _name(method, best.setting.number, seed)
    name = f"setting {best.setting.number}" + f" of seed {seed}" * are_of_populations(ranked)
    count = f"{tried}" + f" ({len(ranked)} reached the last rung)" * (len(ranked) < tried)
    return [
        f"{method}: {name} is the best of {count}: {objective} {best.score:.4f}{own}",
        f"  {command(script, best) if script else f'python -m tune_experiments evaluate {winner}'}",
    ]


def _members(populations: Sequence[Population], method: str, trials: Path) -> list[Ranked]:
    """Every member of every seed that has come to its end, with what it learned with at last."""
    return [
        Ranked(member, {one.seed: one.score(trials / _name(method, member.number, one.seed))}, ())
        for one in populations
        for member in one.members
        if one.method == method and read_test_results(trials / _name(method, member.number, one.seed)) is not None
    ]


def _finished(
    experiment: BaseExperiment, method: str, tried: Sequence[Setting], options: RunOptions, trials: Path, objective: str
) -> list[Ranked]:
    found = []
    for setting in tried:
        folders = {seed: trials / _name(method, setting.number, seed) for seed in options.seeds}
        if all(read_test_results(folder) is not None for folder in folders.values()):
            by_seed = {seed: score(folder, objective) for seed, folder in folders.items()}
            found.append(Ranked(setting, by_seed, _flags(experiment, setting.config, method, options)))
    return found


def _flags(experiment: BaseExperiment, config: DataclassInstance, method: str, options: RunOptions) -> tuple[str, ...]:
    """Flags of a full run of one method, with seeds that did not take part in the choice."""
    if any(field.name == "methods" for field in dataclasses.fields(config)):
        config = dataclasses.replace(config, methods=(method,))
    seeds = range(max(options.seeds) + 1, max(options.seeds) + 1 + _SEEDS_OF_A_FULL_RUN)
    preset = options.preset if options.preset in experiment.presets else experiment.default_preset
    changes = flags_between(experiment.presets[preset], config)
    return "--preset", preset, *changes, "--seeds", *map(str, seeds), "--out", f"runs/{method}_of_search"


def _name(method: str, number: int, seed: int) -> str:
    return f"{method}-setting{number:02}-seed{seed}"
