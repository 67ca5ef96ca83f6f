"""Evaluation of a trained policy, and the files with its results and data for figures."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.policy import TeamPolicy
from tune_experiments.core.config_json import config_from_json
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_json
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.plan import Episodes, Tested, Tests
from tune_experiments.results.intervals import Interval, interval_over_episodes
from tune_experiments.results.rows import AFTER, Result
from tune_experiments.run.curriculum_state import CurriculumState
from tune_experiments.run.run_folder import TEST_RESULTS_FILE

_FIGURE_DATA = "_figures.npz"
_METRICS = {"length": "episode_length"}
"""Name of a metric in worlds -> its name in results."""

Evaluate = Callable[[TeamPolicy], Tests]


def make_evaluations(
    experiment: BaseExperiment[Config],
    config: Config,
    method: str,
    curriculum: CurriculumState,
    trial_folder: Path | None,
) -> dict[str, Evaluate]:
    """Evaluations of a policy: tested stage (empty for the whole curriculum) -> evaluation.

    A policy of the last stage gets the experiment's evaluation, and its stage's own if there is one. A policy of an
    earlier stage gets its stage's own, or the experiment's under the stage's name.
    """
    stage = curriculum.stage

    def whole(policy: TeamPolicy) -> Tests:
        return experiment.evaluate_trial(config, method, policy, trial_folder)

    own = {stage.name: stage.evaluate} if stage.evaluate is not None else {}
    if curriculum.is_in_last_stage:
        return own | {"": whole}
    return own or {stage.name: whole}


def evaluate_all(
    evaluations: Mapping[str, Evaluate], method: str, policy: TeamPolicy
) -> Iterator[tuple[Tested, Episodes]]:
    """Tests of all evaluations, with the stage in their condition."""
    for stage, evaluate in evaluations.items():
        for key, episodes in evaluate(policy).items():
            tested = key if isinstance(key, Tested) else Tested(key)
            if tested.method != method:
                condition = f"{tested.condition} {AFTER}{stage}".strip() if stage else tested.condition
                yield dataclasses.replace(tested, condition=condition), episodes


def make_results(
    experiment: BaseExperiment,
    method: str,
    seed: int,
    tested: Tested,
    episodes: Episodes,
    env_steps: int | None,
    cpu_seconds: float | None = None,
    skipped_updates: float | None = None,
) -> list[Result]:
    """Rows of results.jsonl for a test, with intervals over episodes; exact numbers have no episodes.

    Rows of another policy have no seed and no env steps.
    """
    means = {name: values for name, values in episodes.items() if name[0] != "_"}
    numbers = {_METRICS.get(name, name): values for name, values in means.items()}
    ranges = {metric: experiment.metric_range(metric) for metric in numbers}
    found = {metric: interval_over_episodes(values, ranges[metric].is_share) for metric, values in numbers.items()}
    count = max(map(len, means.values()), default=0)
    trained = {"seed": seed, "env_steps": env_steps, "cpu_seconds": cpu_seconds, "skipped_updates": skipped_updates}
    return [
        _make_result(
            experiment,
            metric,
            interval,
            method=tested.method or method,
            world=tested.world,
            split=experiment.get_split(tested.world),
            n_episodes=None if experiment.split == "exact" else len(numbers.get(metric, range(count))),
            condition=tested.condition,
            **{"seed": None} if tested.method else trained,
        )
        for metric, interval in (found | dict(experiment.estimates(episodes))).items()
    ]


def make_training_results(
    experiment: BaseExperiment, method: str, seed: int, rows: Sequence[Mapping[str, float]], env_steps: int
) -> list[Result]:
    """Rows of results.jsonl from the log of training, without intervals."""
    trained: dict[str, Any] = {"method": method, "seed": seed, "split": "train", "env_steps": env_steps}
    return [
        _make_result(experiment, metric, Interval(value), world=world, **trained)
        for world, metrics in experiment.training_results(method, rows).items()
        for metric, value in metrics.items()
    ]


def _make_result(experiment: BaseExperiment, metric: str, interval: Interval, **fields: Any) -> Result:
    limits = experiment.metric_range(metric)
    low, high = (end if math.isfinite(end) else None for end in (limits.low, limits.high))
    return Result(
        experiment=experiment.name,
        table=experiment.caption,
        metric=metric,
        value=interval.value,
        ci_low=interval.low,
        ci_high=interval.high,
        interval=interval.kind,
        bounds=(low, high),
        **fields,
    )


def write_test_results(folder: Path, results: Sequence[Result], of: Mapping[str, Any] | None = None) -> None:
    """Write the test results of a finished trial; UserError for a number that is not finite."""
    for one in results:
        numbers = [number for number in (one.value, one.ci_low, one.ci_high) if number is not None]
        if not all(map(math.isfinite, numbers)):
            raise UserError(
                f"the test of {one.method}, seed {one.seed}, gives {numbers} for {one.metric!r} in {one.place!r}: "
                f"make it finite in every episode; the same command then tests the trained weights again"
            )
    document = {"results": [vars(result) for result in results]} | ({"of": dict(of)} if of else {})
    write_json(folder / TEST_RESULTS_FILE, document)


def is_tested_with(folder: Path, budgets: Mapping[str, Any]) -> bool:
    """Whether a trial has finished with exactly these budgets (`grown_values`)."""
    path = folder / TEST_RESULTS_FILE
    of = read_json(path).get("of", {}) if path.exists() else None
    return of is not None and all(of.get(name, value) == value for name, value in budgets.items())


def read_test_results(folder: Path) -> list[Result] | None:
    """Test results of a finished trial (an empty list if it has no test), else None; UserError for a damaged file."""
    path = folder / TEST_RESULTS_FILE
    if not path.exists():
        return None
    try:
        return [config_from_json(Result, row, f"{path}: a result", has_all=False) for row in read_json(path)["results"]]
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} holds no results ({error!r}); delete it and the trial is tested again") from error


def save_figure_data(folder: Path, tested: Tested, episodes: Episodes) -> None:
    """Write arrays for figures from the episodes of a test: those whose names begin with `_`."""
    arrays = {name: values for name, values in episodes.items() if name[0] == "_"}
    if arrays:
        np.savez(folder / f"{tested.name}{_FIGURE_DATA}", allow_pickle=False, **arrays)


def figure_data_files(folder: Path) -> dict[str, Path]:
    """Files of `save_figure_data` in a trial's folder: environment and condition -> file."""
    return {path.name.removesuffix(_FIGURE_DATA): path for path in sorted(folder.glob(f"*{_FIGURE_DATA}"))}
