"""Trained teams of SAMA tested again, under other planners and conditions, without training them anew.

A team's weights do not depend on who plans in its test, so a finished run serves every table of tests.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, refuse_other_files, write_atomically, write_json
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.finding import find_stored, trial_folders
from tune_experiments.experiment.plan import Episodes, Tested
from tune_experiments.play.loading import LoadedPolicy, load_policy
from tune_experiments.results.rows import RESULTS_FILE, Result, replace_rows
from tune_experiments.results.tables import TABLE_FILE
from tune_experiments.run.final_evaluation import evaluate_all, make_results, read_test_results
from tune_experiments.run.run_folder import CONFIG_FILE, read_config
from tune_experiments.sama.overcooked.config import RULES, SamaConfig
from tune_experiments.sama.overcooked.trials import split_method
from tune_experiments.sama.planning_metrics import TRANSCRIPT

TRANSCRIPTS, KIND = "transcripts", "retest.json"
_TOLD_APART = (
    "goals",
    "reflections",
    "after_failure",
    "random_share",
    "manual",
    "translates_states",
    "extracts_objects",
    "shots",
    "round_steps",
    "max_episode_steps",
    "is_greedy",
    "budget_env_steps",
)
"""Fields that make two tests different kinds, beside planner, model and episodes; the last one tells runs apart."""
_OWN = {RESULTS_FILE, TABLE_FILE, TRANSCRIPTS, KIND}


def load_teams(run: Path, methods: Sequence[str] = (), tasks: Sequence[str] = ()) -> Iterator[LoadedPolicy]:
    """The teams of a run whose trials have finished, in the order of its table.

    Args:
        run: folder of a run of sama_overcooked or sama_ablations; others of its trials may still train.
        methods: rows that are wanted; all by default.
        tasks: kitchens that are wanted; all by default.

    Raises:
        UserError: no run folder of these, or no such team in it.
    """
    experiment, config = find_stored(*read_config(run), (), run / CONFIG_FILE)
    if not isinstance(config, SamaConfig):
        raise UserError(f"{run} is a run of {experiment.name}; name one of sama_overcooked or sama_ablations")
    found = False
    for method, seeds in trial_folders(experiment, config, run).items():
        row, layout = split_method(method)
        if (not methods or row in methods) and (not tasks or layout in tasks):
            for _, folder in sorted(seeds.items()):
                if read_test_results(folder) is not None:
                    found = True
                    yield load_policy(folder)
    if not found:
        raise UserError(f"{run} has no finished trial of these methods and kitchens; let it train, or name others")


def tested_again(experiment: BaseExperiment, team: LoadedPolicy, changes: Mapping[str, Any], out: Path) -> list[Result]:
    """Test one team and write its rows and transcripts; rows of an earlier test of the same kind are replaced.

    Args:
        experiment: experiment whose tests are made.
        team: team to test.
        changes: fields of the team's configuration that the test has instead.
        out: folder of the results, made where it is missing.

    Raises:
        UserError: a planner that cannot answer, or a folder with tests of another kind.
    """
    config = dataclasses.replace(team.config, **changes)
    experiment.check(config)
    _claim(out, experiment, config)
    evaluate = functools.partial(experiment.evaluate_trial, config, team.method, trial_folder=team.trial_folder)
    found = dict(evaluate_all({"": evaluate}, team.method, team.policy))
    _write_transcripts(out / TRANSCRIPTS / f"{team.method}-seed{team.seed}", found)
    rows = [
        row
        for tested, episodes in found.items()
        for row in make_results(experiment, team.method, team.seed, tested, episodes, team.env_steps)
    ]
    replace_rows(out / RESULTS_FILE, rows)
    return rows


def check_out(out: Path) -> None:
    """Refuse a folder that holds other things than tests of teams.

    Raises:
        UserError: there are others.
    """
    refuse_other_files(out, _OWN)
    if (out / RESULTS_FILE).exists() and not (out / KIND).exists():
        raise UserError(f"{out} has results and no {KIND} that says how they came about; give --out a new folder")


def _claim(out: Path, experiment: BaseExperiment, config: SamaConfig) -> None:
    """Write down in a new folder of what kind its tests are, or check that an old one is of the same kind.

    Which teams are tested is no part of it, nor is the chat model's budget: a test that has used it up may go on with a
    larger one.
    """
    kind = {"experiment": experiment.name, "planner": config.planner, "episodes": config.test_episodes}
    kind |= {name: getattr(config, name) for name in _TOLD_APART} | {"also_tests": list(config.also_tests)}
    if config.planner not in RULES:
        kind["model"] = config.model.name
    if config.planner == "scored":
        kind["normalisation"] = config.model.normalisation
    elif config.planner == "noisy":
        kind["noise"] = config.noise
    path = out / KIND
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, kind)
        return
    before = read_json(path)
    known = {name: value for name, value in kind.items() if name in before}  # an earlier version told less
    if changed := first_differences(before, known):
        raise UserError(
            f"{out} holds tests of another kind ({'; '.join(changed)}); "
            "repeat the old flags to continue them or give --out another folder"
        )


def _write_transcripts(folder: Path, found: Mapping[Tested, Episodes]) -> None:
    for tested, episodes in found.items():
        text = str(episodes.get(TRANSCRIPT, np.array("")))
        if text:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / f"{tested.name.replace(',', '')}.md", text)
