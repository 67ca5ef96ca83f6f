"""Win rates in the form of the paper's tables: methods as rows, tests as columns.

A result's world is `SPLIT_SIZExSIZE`; here it becomes a column, another one with wrong documents. References are in
the columns of their room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table
from tune_experiments.rtfm.columns import REFERENCES, SHUFFLED
from tune_experiments.rtfm.stages import GAMES, transfers

_ONE_SPLIT = "test"
"""Columns name the test, so rows do not repeat it."""


def win_rate_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """One table.

    Args:
        results: lines of a run.
        caption: results in the table.
        paper: method -> column -> win rate in the paper.
    """
    lines = [line for line in results if line.metric == "win_rate" and line.table == caption]
    names = {line: _column(line) for line in lines if line.method not in REFERENCES}
    columns = tuple(dict.fromkeys(names.values()))
    cells = [_cell(line, name) for line, name in names.items()]
    return make_table([*cells, *_reference_cells(lines, columns)], caption, columns, paper)


def of_last_games(results: Sequence[Result]) -> list[Result]:
    """Results of finished curricula; those of simpler games are in `transfer_table`.

    The name of the full game's own stage is removed.
    """
    kept = []
    for line in results:
        condition, stage = line.condition_and_stage
        if stage.startswith("full"):
            kept.append(dataclasses.replace(line, condition=condition))
        elif stage not in GAMES:
            kept.append(line)
    return kept


def transfer_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """Win rates on training assignments by previous stages (rows) and next game (columns).

    Args:
        results: lines of a run.
        caption: results in the table.
        paper: method -> game -> win rate in the paper.
    """
    title = f"{caption}: stage by stage"
    cells = [dataclasses.replace(cell, table=title) for cell in transfers([r for r in results if r.table == caption])]
    games = {cell.metric for cell in cells}
    return make_table(cells, title, [game for game in GAMES if game in games], paper)


def _reference_cells(lines: Sequence[Result], columns: Sequence[str]) -> list[Result]:
    """References in all columns of their room but that of wrong documents."""
    return [
        _cell(line, name)
        for line in lines
        if line.method in REFERENCES
        for name in columns
        if _room(name) == _room(line.world) and not name.startswith(SHUFFLED)
    ]


def _column(line: Result) -> str:
    return f"{SHUFFLED}_{_room(line.world)}" if line.condition == SHUFFLED else line.place


def _cell(line: Result, name: str) -> Result:
    return dataclasses.replace(line, metric=name, world="", condition="", split=_ONE_SPLIT)


def _room(world: str) -> str:
    return world.rpartition("_")[2]
