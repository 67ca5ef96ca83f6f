"""Games won with every planner and commander, one table a team; the caption names planner and executor."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rl_envs.core.metrics import COUNT, PROPORTION, SHARE
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.planning_metrics import BY_RULE, QUESTIONS, planner_note

_WON = ("win_rate", "win_rate_of_standing")
COLUMNS = (*_WON, "decisions", "undone_decisions", "rounds", "reached_rounds")
RANGES = dict.fromkeys((*COLUMNS, QUESTIONS, "ticks"), COUNT) | dict.fromkeys(_WON, SHARE) | {BY_RULE: PROPORTION}
COUNTING = (
    "`win_rate` counts games won within the limit of decisions, those of undone rounds included, and a draw is no win; "
    "`win_rate_of_standing` is the paper's count, which leaves undone rounds out. A lost fight in an undone "
    "round is undone, too. Planners have the team's information (fair sight) unless the method names another."
)
ERRING = "weak rules"
"""Prefix of the names of tests with noisy rules, for any planner of the run."""
BY_HAND = "Planner: rules, written by hand; they use no prompts, manual or few-shot examples."
EXECUTORS = {
    "scripted": "Executor: a script of fixed rules, written by hand, without training.",
    "learned": "Executor: one team that RED has trained, the same for all seeds, which are those of the games.",
}


def table_title(method: str) -> str:
    """Title of a team's table."""
    executor, _, number = method.partition("_")
    return f"SAMA on MiniRTS: {number} agents, {executor} executor"


def tables(results: Sequence[Result]) -> list[PaperTable]:
    """One table for each tested team."""
    return [_table(results, method) for method in dict.fromkeys(line.method for line in results)]


def _table(results: Sequence[Result], method: str) -> PaperTable:
    title = table_title(method)
    mine = [line for line in results if line.method == method]
    lines = [dataclasses.replace(line, table=title, method=line.condition, condition="") for line in mine]
    table = make_table([line for line in lines if line.metric in COLUMNS], title, COLUMNS)
    sentences = [
        table.caption,
        EXECUTORS[method.partition("_")[0]],
        planner_note(lines, BY_HAND, (ERRING,), "a game"),
        COUNTING,
    ]
    return dataclasses.replace(table, caption=" ".join(filter(None, sentences)))
