"""Curricula of txt2pi from simpler to harder games (RTFM, section 5.2, tables 2 and 3).

A method is a list of stages: those to the full game add one difficulty each, and `..._to_GAME` is one cell of the
paper's table 2. All weights are transferred. Tables have methods as rows and tests as columns.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Promotion, Stage
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table
from tune_experiments.rtfm.config import (
    REFERENCES,
    SHUFFLED,
    CurriculumConfig,
    CurriculumMethodName,
    column,
    make_world,
)

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy


GAMES: dict[str, dict[str, Any]] = {
    "simplest": {"group": False, "dyna": False, "nl": False},
    "dyna": {"group": False, "nl": False},
    "group": {"dyna": False, "nl": False},
    "nl": {"group": False, "dyna": False},
    "dyna_group": {"nl": False},
    "group_nl": {"dyna": False},
    "dyna_nl": {"group": False},
    "full": {},
    "full_10x10": {"size": 10},
}
"""Stage -> changes to the full game; the columns of table 2, and the full game in a larger room."""
METHODS: dict[CurriculumMethodName, tuple[str, ...]] = {
    "from_scratch": ("full",),
    "from_6x6": ("simplest", "full"),
    "from_dyna": ("simplest", "dyna", "full"),
    "from_dyna_group": ("simplest", "dyna", "dyna_group", "full"),
    "random_to_dyna": ("dyna",),
    "random_to_group": ("group",),
    "random_to_nl": ("nl",),
    "random_to_dyna_group": ("dyna_group",),
    "random_to_group_nl": ("group_nl",),
    "random_to_dyna_nl": ("dyna_nl",),
    "from_6x6_to_group": ("simplest", "group"),
    "from_6x6_to_nl": ("simplest", "nl"),
    "from_6x6_to_dyna_group": ("simplest", "dyna_group"),
    "from_6x6_to_group_nl": ("simplest", "group_nl"),
    "from_6x6_to_dyna_nl": ("simplest", "dyna_nl"),
    "from_dyna_to_dyna_nl": ("simplest", "dyna", "dyna_nl"),
    "trained_on_6x6": ("simplest", "dyna", "dyna_group", "full"),
    "trained_on_10x10": ("simplest", "dyna", "dyna_group", "full_10x10"),
}
ORIGINS: dict[str | None, str] = {
    None: "from_scratch",
    "simplest": "from_6x6",
    "dyna": "from_dyna",
    "dyna_group": "from_dyna_group",
}
"""Previous game -> row of table 2."""
TABLE_2_METHODS: tuple[CurriculumMethodName, ...] = tuple(one for one in METHODS if not one.startswith("trained_on"))
"""Methods whose stages are table 2."""


def plan(config: CurriculumConfig, row: CurriculumMethodName, seed: int) -> Curriculum:
    """The stages of one method with one seed."""
    return Curriculum(tuple(_stage(config, METHODS[row], name, seed) for name in METHODS[row]))


def _stage(config: CurriculumConfig, names: tuple[str, ...], name: str, seed: int) -> Stage:
    from tune_experiments.rtfm.trials import plan as plan_one

    changes: dict[str, Any] = {"task": dataclasses.replace(config.task, **GAMES[name])}
    is_first = name == names[0]
    if is_first:
        changes["budget_env_steps"] = config.first_stage_env_steps
    if name.startswith("full") and not is_first:
        changes["learner"] = dataclasses.replace(config.learner, learning_rate=config.last_learning_rate)
    own = dataclasses.replace(config, **changes)
    is_evaluated_later = name == "full"
    return Stage(
        name=name,
        plan=plan_one(own, "txt2pi", seed),
        promotion=Promotion("valid/win_rate", config.promote_at, over=2) if config.promote_at else None,
        evaluate=None if is_evaluated_later else functools.partial(_evaluate, own),
    )


def _evaluate(config: CurriculumConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """Test of a stage in its own game, one column."""
    from tune_experiments.rtfm.evaluation import play

    world = make_world(config.task, config.test_episodes)
    return {column("train", config.task.size): play(world, policy)}


def transfers(results: Sequence[Result]) -> list[Result]:
    """The cells of table 2 among the lines of a run: row of the table as method, game that was trained on as metric.

    Methods share their first stages; a cell has the number of the first method.
    """
    found: dict[tuple[str, str, int | None], Result] = {}
    for line in results:
        names = METHODS.get(cast(CurriculumMethodName, line.method), ())
        game = _trained_game(line)
        if line.metric == "win_rate" and game in names:
            before = names.index(game)
            origin = ORIGINS[names[before - 1] if before else None]
            cell = dataclasses.replace(line, method=origin, metric=game, world="", condition="")
            found.setdefault((origin, game, line.seed), cell)
    return sorted(found.values(), key=lambda line: list(ORIGINS.values()).index(line.method))


def _trained_game(line: Result) -> str:
    """The game whose training assignments a line is about; empty for any other line."""
    _, stage = line.condition_and_stage
    return (stage or "full") if line.world.startswith("train_") else ""


_ONE_SPLIT = "test"
"""Columns name the test, so rows do not repeat it."""


def win_rate_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """Table of win rates, beside those of the paper (method -> column -> win rate)."""
    lines = [line for line in results if line.metric == "win_rate"]
    names = {
        line: f"{SHUFFLED}_{_room(line.world)}" if line.condition == SHUFFLED else line.place
        for line in lines
        if line.method not in REFERENCES
    }
    columns = tuple(dict.fromkeys(names.values()))
    cells = [_cell(line, name) for line, name in names.items()]
    return make_table([*cells, *_reference_cells(lines, columns)], caption, columns, paper)


def of_last_games(results: Sequence[Result]) -> list[Result]:
    """Results of finished curricula, without the name of the full game's own stage."""
    kept = []
    for line in results:
        condition, stage = line.condition_and_stage
        if stage.startswith("full"):
            kept.append(dataclasses.replace(line, condition=condition))
        elif stage not in GAMES:
            kept.append(line)
    return kept


def transfer_table(results: Sequence[Result], caption: str, paper: PaperNumbers | None = None) -> PaperTable:
    """Win rates on training assignments by previous stages (rows) and next game (columns), beside the paper's."""
    title = f"{caption}: stage by stage"
    cells = transfers(results)
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


def _cell(line: Result, name: str) -> Result:
    return dataclasses.replace(line, metric=name, world="", condition="", split=_ONE_SPLIT)


def _room(world: str) -> str:
    return world.rpartition("_")[2]
