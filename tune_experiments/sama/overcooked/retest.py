"""Trained teams of SAMA tested again, with other planners and conditions, without training.

Weights do not depend on the planner of the test, so a finished run is enough for all tests.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tune_experiments.core.config_json import config_to_json, first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, check_for_other_files, read_json, write_json
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.play.loading import LoadedPolicy, load_policy
from tune_experiments.results.rows import RESULTS_FILE, Result, replace_rows
from tune_experiments.results.tables import TABLE_FILE
from tune_experiments.run.final_evaluation import evaluate_all, make_results, read_test_results
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.sama.overcooked.config import SamaConfig, split_method
from tune_experiments.sama.planned_experiment import TRANSCRIPT, write_transcript
from tune_experiments.sama.planner_config import RULES

TRANSCRIPTS, KIND = "transcripts", "retest.json"
_OTHERWISE_ALIKE = ("methods", "tasks", "workers", "record", "replay", "model")
"""Fields that may differ between tests of one kind; except name and normalisation of the model."""
_OWN = {RESULTS_FILE, TABLE_FILE, TRANSCRIPTS, KIND}


def load_teams(run: Path, methods: Sequence[str] = (), tasks: Sequence[str] = ()) -> Iterator[LoadedPolicy]:
    """Teams of the finished trials of a run of sama_overcooked or sama_ablations, in the order of its table.

    Without `methods` or `tasks` all are loaded. A UserError if there is no such run, or no such team in it.
    """
    stored = StoredRun.open(run)
    if not isinstance(stored.config, SamaConfig):
        raise UserError(f"{run} is a run of {stored.experiment.name}; name one of sama_overcooked or sama_ablations")
    found = False
    for method, seeds in stored.trials.items():
        row, layout = split_method(method)
        if (not methods or row in methods) and (not tasks or layout in tasks):
            for folder in seeds.values():
                if read_test_results(folder) is not None:
                    found = True
                    yield load_policy(folder)
    if not found:
        raise UserError(f"{run} has no finished trial of these methods and kitchens; let it train, or name others")


def tested_again(experiment: BaseExperiment, team: LoadedPolicy, changes: Mapping[str, Any], out: Path) -> list[Result]:
    """Test a team with changed fields of its configuration, and write its rows and transcripts into `out`.

    Rows of an earlier test of the same kind are replaced. A UserError if the planner cannot answer, or if `out` holds
    tests of another kind.
    """
    config = dataclasses.replace(team.config, **changes)
    experiment.check(config)
    _claim(out, experiment, config)
    evaluate = functools.partial(experiment.evaluate_trial, config, team.method, trial_folder=team.trial_folder)
    found = dict(evaluate_all({"": evaluate}, team.method, team.policy))
    for tested, episodes in found.items():
        if text := str(episodes.get(TRANSCRIPT, "")):
            write_transcript(out, team.method, team.seed, tested.name, text)
    trained = team.curriculum.plan.trained_env_steps(team.env_steps)
    rows = [
        row
        for tested, episodes in found.items()
        for row in make_results(experiment, team.method, team.seed, tested, episodes, trained)
    ]
    replace_rows(out / RESULTS_FILE, rows)
    return rows


def check_out(out: Path) -> None:
    """Check that a folder can be written and holds only tests of teams, else raise UserError."""
    check_folder(out, "--out")
    check_for_other_files(out, _OWN)
    if (out / RESULTS_FILE).exists() and not (out / KIND).exists():
        raise UserError(f"{out} has results without {KIND}, the description of their tests; use a new --out folder")


def _claim(out: Path, experiment: BaseExperiment, config: SamaConfig) -> None:
    """Describe the kind of tests in a new folder, or check that of an existing one."""
    settings = {name: value for name, value in config_to_json(config).items() if name not in _OTHERWISE_ALIKE}
    kind = {"experiment": experiment.name} | settings
    if config.planner not in RULES:
        kind |= {"model": config.model.name, "normalisation": config.model.normalisation}
    path = out / KIND
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, kind)
        return
    if changed := first_differences(read_json(path), kind):
        raise UserError(
            f"{out} holds tests of another kind ({'; '.join(changed)}); "
            "repeat the old flags to continue them or use another --out folder"
        )
