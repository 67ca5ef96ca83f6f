"""What a trained team is tested with, and the file in which a finished trial leaves its numbers.

A trial at its end and `python -m tune_experiments evaluate` test by the same rule: a team of the last stage takes the
experiment's test, one of an earlier stage its stage's own, so that a stage may be of another game.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_models.policy import TeamPolicy
from tune_experiments.experiment.config_json import config_from_json
from tune_experiments.experiment.errors import UserError
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.experiment.plan import Episodes
from tune_experiments.results.intervals import interval_over_episodes
from tune_experiments.results.rows import Result
from tune_experiments.run.curriculum_state import Course
from tune_experiments.run.files import read_json, write_json

__all__ = ["Test", "after_stage", "outcome_of", "results_of", "results_of_training", "tests_of", "write_outcome"]

OUTCOME = "outcome.json"
"""Written last: the test results of a finished trial, none where it was not to be tested."""
Test = Callable[[TeamPolicy], dict[str, Episodes]]


def tests_of(experiment: Experiment, config: Any, course: Course) -> dict[str, Test]:
    """The tests of a team by what they add to the names of their worlds.

    A team of the last stage takes the experiment's test, beside its stage's own if there is one. One of an earlier
    stage takes its stage's own, or the experiment's under a name that tells: nobody shall take this for the whole
    curriculum's result.
    """
    stage, whole = course.stage, functools.partial(experiment.test, config)
    own = {after_stage(stage.name): stage.test} if stage.test is not None else {}
    if course.is_in_last_stage:
        return own | {"": whole}
    return own or {after_stage(stage.name): whole}


def after_stage(name: str) -> str:
    """What the names of worlds end with that the team of a stage was tested in."""
    return f" after {name}"


def results_of(
    experiment: Experiment, method: str, seed: int, world: str, episodes: Episodes, env_steps: int
) -> list[Result]:
    """Rows of results.jsonl for a test, with intervals over episodes; exact numbers have no episodes."""
    rows = []
    for name, values in episodes.items():
        if name[0] == "_":
            continue
        interval = interval_over_episodes(values)
        rows.append(
            Result(
                experiment=experiment.name,
                table=experiment.caption,
                method=method,
                world=world,
                split=experiment.split,
                seed=seed,
                metric={"length": "episode_length"}.get(name, name),
                value=interval.value,
                ci_low=interval.low,
                ci_high=interval.high,
                n_episodes=None if experiment.split == "exact" else len(values),
                env_steps=env_steps,
            )
        )
    return rows


def results_of_training(
    experiment: Experiment, method: str, seed: int, rows: Sequence[Mapping[str, float]], env_steps: int
) -> list[Result]:
    """Rows of results.jsonl for what the log of a trial tells, without intervals; most experiments have none."""
    return [
        Result(
            experiment=experiment.name,
            table=experiment.caption,
            method=method,
            world=world,
            split="train",
            seed=seed,
            metric=metric,
            value=value,
            env_steps=env_steps,
        )
        for world, told in experiment.of_training(method, rows).items()
        for metric, value in told.items()
    ]


def write_outcome(folder: Path, results: Sequence[Result]) -> None:
    """Say that the trial in this folder has finished, and with which results."""
    write_json(folder / OUTCOME, {"results": [vars(result) for result in results]})


def outcome_of(folder: Path) -> list[Result] | None:
    """Test results of a trial that has finished (an empty list if it was not to be tested), else None.

    Raises:
        UserError: what lies there is no outcome.
    """
    path = folder / OUTCOME
    if not path.exists():
        return None
    try:
        return [config_from_json(Result, row, f"{path}: a result") for row in read_json(path)["results"]]
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} holds no results ({error!r}); delete it and the trial is tested again") from error
