"""Win rates, a table a stage: methods and random play as rows, tests as columns.

A result's world is `stage_S_SPLIT`; its condition may be permuted roles, or an earlier stage.

`endings_table` lists causes of lost games, to tell failures of reading from those of control.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rl_envs.messenger.endings import ENDINGS
from tune_experiments.experiment.plan import RANDOM
from tune_experiments.messenger.config import GROUNDED, MOVING
from tune_experiments.messenger.evaluation import COLUMNS, GIVEN_ROLES
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table, with_note

NOT_IN_THE_PAPER = (
    f"Methods that end with {GROUNDED} learn with a contrastive grounding loss, which the paper does not have."
)
MOVING_NOT_IN_THE_PAPER = (
    f"In methods that begin with {MOVING} queries also contain how sprites move, and such methods may have a "
    "movement contrast; the paper has neither."
)
CHOSEN = (
    "Weights are those with the best validation win rate: a method that overfits is tested with earlier weights "
    "(its curves show what came later)."
)
_WORLD = re.compile(r"stage_(\d)_(\w+)")
_ENDINGS_EXPLAINED = (
    "Shares of all test episodes; with the win rate they add up to 1. A decoy has the symbol of the message or goal, "
    "and differs only in its movement; lost_to_goal: touched without the message; has_message: share of agents "
    "that have it at the end."
)
_READING_EXPLAINED = (
    "Shares of an episode's time steps in which a sprite, alone in its cell, attends most to the sentence about it, "
    "averaged over test episodes. By chance it is one in three, in stage 3 one in six. There a message and its decoy "
    "look alike until they move: without movements in queries both always attend to the same sentence, and with them "
    "they can only be distinguished once they move."
)
_OF_ENDINGS = ("win_rate", *ENDINGS, "has_message")


def tables(
    results: Sequence[Result],
    caption: str,
    paper: Mapping[int, PaperNumbers] | None = None,
    chosen: str = CHOSEN,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> list[PaperTable]:
    """One table for each stage that was tested.

    Args:
        results: lines of a run.
        caption: title of the tables.
        paper: stage -> method -> column -> win rate in the paper.
        chosen: sentence about the choice of the tested weights.
        columns: condition -> its column; `SPLIT_CONDITION` where none is named.
    """
    cells = [cell for line in results if line.metric == "win_rate" and (cell := _cell(line, caption, columns))]
    printed = {_title(caption, stage): numbers for stage, numbers in (paper or {}).items()}
    return [
        _table([cell for cell in cells if cell.table == title], chosen, printed.get(title))
        for title in sorted({one.table for one in cells})
    ]


def _table(cells: Sequence[Result], chosen: str, paper: PaperNumbers | None) -> PaperTable:
    played = [cell for cell in cells if cell.method != RANDOM]
    there = dict.fromkeys(cell.metric for cell in played)
    columns = [name for name in dict.fromkeys((*COLUMNS, *there)) if name in there]
    table = make_table(cells, cells[0].table, columns, paper)
    notes = [table.caption, chosen]
    notes += [NOT_IN_THE_PAPER] * any(cell.method.endswith(GROUNDED) for cell in played)
    notes += [MOVING_NOT_IN_THE_PAPER] * any(cell.method.startswith(MOVING) for cell in played)
    return dataclasses.replace(table, caption=" ".join(notes))


def _cell(line: Result, caption: str, columns: Mapping[str, str]) -> Result | None:
    """A line as a cell of its stage's table; None if such tables do not show it."""
    found = _WORLD.fullmatch(line.world)
    if found is None:
        return None
    condition, _ = line.condition_and_stage
    column = columns.get(condition) or "_".join(filter(None, (found[2], condition)))
    return dataclasses.replace(line, table=_title(caption, int(found[1])), metric=column, world="", condition="")


def _title(caption: str, stage: int) -> str:
    return f"{caption}, stage {stage}"


def endings_table(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table of training and test games of all stages, or none for older results without endings."""
    title = f"{caption}: causes of lost games"
    cells = game_tables(results, _OF_ENDINGS)
    if not {cell.metric for cell in cells} & set(ENDINGS):
        return []
    table = make_table(cells, title, _OF_ENDINGS)
    return with_note([table], _ENDINGS_EXPLAINED)


def game_tables(results: Sequence[Result], metrics: Sequence[str]) -> list[Result]:
    """Cells of a table over training and test games of all stages, with the true manual."""
    mine = [line for line in results if line.metric in metrics and line.method != RANDOM]
    plain = [line for line in mine if not line.condition_and_stage[0]]
    shown = [(line, _WORLD.fullmatch(line.world)) for line in plain]
    return [
        dataclasses.replace(line, world=f"S{match[1]}, {match[2]}", condition="")
        for line, match in shown
        if match and match[2] in ("train", "test")
    ]


def reading_table(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table of training and test games of all stages, or none for results without readings."""
    title = f"{caption}: attention of sprites to sentences"
    cells = game_tables(results, tuple(GIVEN_ROLES))
    if not cells:
        return []
    there = {cell.metric for cell in cells}
    made = make_table(cells, title, [name for name in GIVEN_ROLES if name in there])
    return with_note([made], _READING_EXPLAINED)
