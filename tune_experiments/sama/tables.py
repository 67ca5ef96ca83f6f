"""Soups and reward of an episode, one table a kitchen: rows, or the conditions of an ablation, below each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tune_experiments.overcooked.tables import PUBLISHED
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.trials import parts_of

COLUMNS = ("soups", "reward", "rounds", "reached_rounds", "wasted_steps")
CONDITION = ": "
"""Between a kitchen and the condition of a test, in the name of its world."""


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
    table = make_table(lines, title, COLUMNS)
    known = PUBLISHED.get(kitchen)
    note = f" For comparison: the game's own self-play agents reach about {known} in 7 million env steps." * bool(known)
    return dataclasses.replace(table, caption=table.caption + note)


def _label(line: Result) -> str:
    """The row, and under which condition, or after which stage of training, it was tested where there are several."""
    row, kitchen = parts_of(line.method)
    return row + line.world.removeprefix(kitchen).replace(CONDITION, ", ", 1)
