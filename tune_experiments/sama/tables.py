"""Soups and reward of an episode, one table a kitchen: rows, or the conditions of an ablation, below each other.

Below it stands how many of a model's rewards the built-in ones stood in for while training.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tune_experiments.overcooked.tables import PUBLISHED
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.kitchens import FALLEN_BACK
from tune_experiments.sama.trials import parts_of

COLUMNS = ("soups", "reward", "rounds", "reached_rounds", "wasted_steps")
CONDITION = ": "
"""Between a kitchen and the condition of a test, in the name of its world."""


def of_training(method: str, rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """How often built-in rewards stood in for a model's; nothing where no model wrote any.

    Sub-goals are counted as the largest mean over the episodes of a row of the log; queries are a mean over the rows.
    """
    told = [[row[f"episode/{name}"] for name in FALLEN_BACK] for row in rows if f"episode/{FALLEN_BACK[0]}" in row]
    if not told:
        return {}
    subgoals, queries = zip(*told, strict=True)
    return {parts_of(method)[1]: dict(zip(FALLEN_BACK, (max(subgoals), sum(queries) / len(queries)), strict=True))}


def tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table for each kitchen that was tested."""
    kitchens = dict.fromkeys(parts_of(line.method)[1] for line in results)
    return [_table(results, kitchen, caption) for kitchen in kitchens]


def _table(results: Sequence[Result], kitchen: str, caption: str) -> PaperTable:
    title = f"{caption}: {kitchen}"
    lines = [
        dataclasses.replace(line, table=title, method=_label(line), world=kitchen)
        for line in results
        if parts_of(line.method)[1] == kitchen
    ]
    table = make_table([line for line in lines if line.metric not in FALLEN_BACK], title, COLUMNS)
    known = PUBLISHED.get(kitchen)
    note = f" For comparison: the game's own self-play agents reach about {known} in 7 million env steps." * bool(known)
    return dataclasses.replace(table, caption=table.caption + note + _fallen_back(lines))


def _fallen_back(lines: Sequence[Result]) -> str:
    """A sentence for each row and seed with rewards by a model."""
    subgoals, queries = (
        {(line.method, line.seed): line.value for line in lines if line.metric == name} for name in FALLEN_BACK
    )
    return "".join(
        f" Rewards of {method}, seed {seed}: built-in ones stood in for the model's in {subgoals[method, seed]:g} "
        f"sub-goals, {100 * share:.1f} % of the queries in training."
        for (method, seed), share in queries.items()
        if (method, seed) in subgoals
    )


def _label(line: Result) -> str:
    """The row, and under which condition, or after which stage of training, it was tested where there are several."""
    row, kitchen = parts_of(line.method)
    return row + line.world.removeprefix(kitchen).replace(CONDITION, ", ", 1)
