"""Return, success and length of an episode: rows as methods, ablations of teams that write, and baselines."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tune_experiments.common.results import Result
from tune_experiments.common.salad.evaluation import ABLATIONS, BASELINES
from tune_experiments.common.tables import PaperTable, make_table

COLUMNS = ("return", "success", "episode_length", "wrong_dishes")


def tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table for each task that was tested."""
    tasks = dict.fromkeys(_task(line) for line in results)
    return [_table([line for line in results if _task(line) == task], f"{caption}: {task}", task) for task in tasks]


def _table(results: Sequence[Result], title: str, task: str) -> PaperTable:
    mine = [dataclasses.replace(_renamed(line, task), table=title) for line in results]
    own = [line for line, before in zip(mine, results, strict=True) if before.world == task]
    ablated = [line for line, before in zip(mine, results, strict=True) if before.world.endswith(ABLATIONS)]
    return make_table([*own, *ablated, *_of_first_trial(mine)], title, COLUMNS)


def _renamed(line: Result, task: str) -> Result:
    """An ablation's row has the name of its team, a baseline's its own; nobody trained the latter."""
    said = line.world.removeprefix(task).lstrip(": ")
    if said in BASELINES:
        return dataclasses.replace(line, method=said, world=task, env_steps=None)
    return dataclasses.replace(line, method=f"{line.method} {said}".rstrip(), world=task)


def _of_first_trial(results: Sequence[Result]) -> list[Result]:
    """Baselines know no method and no seed: those of the first trial stand for all."""
    first: dict[tuple[str, str], Result] = {}
    for line in results:
        if line.method in BASELINES:
            first.setdefault((line.method, line.metric), line)
    return sorted(first.values(), key=lambda line: BASELINES.index(line.method))


def _task(line: Result) -> str:
    return line.world.split(" ")[0].rstrip(":")
