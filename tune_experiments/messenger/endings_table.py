"""What tested games were lost to, a row a method and column: failures of reading apart from those of control."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from rl_envs.messenger.endings import ENDINGS
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

EXPLANATION = (
    "Shares of all test episodes; with the win rate they add up to 1. A decoy has the symbol of the message or goal, "
    "and only its movement tells them apart; lost_to_goal: touched without the message; has_message: share of agents "
    "that have it at the end."
)
METRICS = ("win_rate", *ENDINGS, "has_message")
_WORLD = re.compile(r"stage_(\d)_(train|test)(?: after .*)?$")


def endings_table(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table of training and test games of all stages, or none for results from before there were endings.

    Args:
        results: lines of a run.
        caption: title of its tables in results.jsonl.
    """
    title = f"{caption}: what games are lost to"
    found = [(line, _WORLD.match(line.world)) for line in results if line.table == caption and line.metric in METRICS]
    cells = [dataclasses.replace(line, table=title, world=f"S{match[1]}, {match[2]}") for line, match in found if match]
    if not {cell.metric for cell in cells} & set(ENDINGS):
        return []
    table = make_table(cells, title, METRICS)
    return [dataclasses.replace(table, caption=f"{table.caption} {EXPLANATION}")]
