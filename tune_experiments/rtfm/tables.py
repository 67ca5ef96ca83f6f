"""Win rates as the paper's tables have them: methods as rows, and as columns where they were measured.

A result's world is `SPLIT_SIZExSIZE`; here it becomes a column. References become rows, in the columns of their room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table
from tune_experiments.rtfm.evaluation import REFERENCES, SHUFFLED
from tune_experiments.rtfm.stages import GAMES, transfers
from tune_experiments.run.final_evaluation import after_stage

_ONE_SPLIT = "test"
"""Columns say what was played, so rows shall not say it again."""


def win_rate_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """One table.

    Args:
        results: lines of a run.
        caption: which of them.
        paper: method -> column -> the win rate that the paper prints.
    """
    lines = [line for line in results if line.metric == "win_rate" and line.table == caption]
    played = [line for line in lines if _split(line) not in REFERENCES]
    columns = tuple(dict.fromkeys(line.world for line in played))
    cells = [dataclasses.replace(line, metric=line.world, world="", split=_ONE_SPLIT) for line in played]
    return make_table([*cells, *_reference_cells(lines, columns)], caption, columns, paper)


def of_last_games(results: Sequence[Result]) -> list[Result]:
    """Lines of finished ways: what simpler games ended with stands in `transfer_table`.

    The full game's own stage is tested like any other column, so its name falls away.
    """
    kept = []
    for line in results:
        world, _, stage = line.world.partition(after_stage(""))
        if stage.startswith("full"):
            kept.append(dataclasses.replace(line, world=world))
        elif stage not in GAMES:
            kept.append(line)
    return kept


def transfer_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """Win rates on training assignments by where a team comes from (rows) and what it was trained on next (columns).

    Args:
        results: lines of a run.
        caption: which of them.
        paper: row -> game -> the win rate that the paper prints.
    """
    title = f"{caption}: stage by stage"
    cells = [dataclasses.replace(cell, table=title) for cell in transfers([r for r in results if r.table == caption])]
    games = {cell.metric for cell in cells}
    return make_table(cells, title, [game for game in GAMES if game in games], paper)


def _reference_cells(lines: Sequence[Result], columns: Sequence[str]) -> list[Result]:
    """References depend on neither method nor seed; keep the first trial's rows."""
    first = lines[0] if lines else None
    return [
        dataclasses.replace(
            line, method=_split(line).replace("_", " "), metric=column, world="", split=_ONE_SPLIT, env_steps=None
        )
        for line in lines
        if first and (line.method, line.seed) == (first.method, first.seed) and _split(line) in REFERENCES
        for column in columns
        if _room(column) == _room(line.world) and not column.startswith(SHUFFLED)
    ]


def _split(line: Result) -> str:
    return line.world.rpartition("_")[0]


def _room(world: str) -> str:
    return world.rpartition("_")[2]
