"""How tested teams divided their entities: overlap, coverage and numbers, a row a method and world."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tune_experiments.endi.division import MEASURES
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.run.final_evaluation import after_stage

EXPLANATION = (
    "overlap: share of what is taken that more than one agent takes; coverage: share of the entities that an agent "
    "takes; taken: share that any agent takes; conflicts: steps at which two agents' nearest own entity is the same."
)

CLAIM = "The paper says of endi_reg, without a regulariser, that its masks cover nearly all entities."


def division_table(results: Sequence[Result], caption: str, worlds: Mapping[str, str]) -> list[PaperTable]:
    """One table, or none where no team divides.

    Args:
        results: lines of a run, of all stages that were tested.
        caption: which of them.
        worlds: their names in the results (without the stage that one was tested after) -> in the table.
    """
    title = f"{caption}: how entities are divided"
    columns = (*MEASURES, *sorted({line.metric for line in results if line.metric.startswith("own_entities_")}))
    named = [(line, worlds.get(line.world.partition(after_stage(""))[0])) for line in results if line.table == caption]
    cells = [
        dataclasses.replace(line, table=title, world=world)
        for line, world in named
        if world is not None and line.metric in columns
    ]
    if not cells:
        return []
    table = make_table(cells, title, columns)
    notes = [table.caption, EXPLANATION, *[CLAIM] * any(cell.method == "endi_reg" for cell in cells)]
    return [dataclasses.replace(table, caption=" ".join(notes))]
