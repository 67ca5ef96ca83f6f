"""Soups and reward of an episode, methods and random play as rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tune_experiments.overcooked.config import COLE
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

COLUMNS = ("soups", "reward", "shaped_return")
PUBLISHED = {
    "cramped_room": 213,
    "asymmetric_advantages": 305,
    "coordination_ring": 164,
    "forced_coordination": 160,
    "counter_circuit_o_1order": 125,
}
"""Reward of the game's own self-play agents (5 seeds, 6.6 to 7.8 million env steps), read off a chart to about 5."""


def tables(results: Sequence[Result], caption: str, columns: Sequence[str] = COLUMNS) -> list[PaperTable]:
    """One table for each kitchen that was tested."""
    kitchens = dict.fromkeys(line.world for line in results)
    return [_table(results, kitchen, caption, columns) for kitchen in kitchens]


def _table(results: Sequence[Result], kitchen: str, caption: str, columns: Sequence[str]) -> PaperTable:
    title = f"{caption}: {kitchen}"
    played = [dataclasses.replace(line, table=title, method=_row(line)) for line in results if line.world == kitchen]
    table = make_table(played, title, columns)
    known = PUBLISHED.get(kitchen)
    note = f" For comparison: the game's own self-play agents reach about {known} in 7 million env steps." * bool(known)
    return dataclasses.replace(table, caption=table.caption + note)


def _row(line: Result) -> str:
    """Label of a row; for COLE with its env steps, as the release has about a hundred times as many."""
    return f"{line.method}, {line.env_steps:,} env steps" if line.method == COLE and line.env_steps else line.method
