"""Ways to the full game: txt2pi through simpler games that add one difficulty each (RTFM, section 5.2, tables 2 and 3).

A row is the list of its stages. Words and networks are the same in all of them, so every weight is handed over.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from rl_models.team_policy import TeamPolicy
from tune_experiments.common.curriculum import Curriculum, Promotion, Stage
from tune_experiments.common.plan import Episodes
from tune_experiments.common.rtfm.config import CurriculumConfig, RowName, make_world
from tune_experiments.common.rtfm.evaluation import column, play
from tune_experiments.common.rtfm.trials import plan as plan_one

GAMES: dict[str, dict[str, Any]] = {
    "simplest": {"group": False, "dyna": False, "nl": False},
    "dyna": {"group": False, "dyna": True, "nl": False},
    "dyna_group": {"group": True, "dyna": True, "nl": False},
    "full": {},
    "full_10x10": {"size": 10},
}
"""Stage -> what it changes in the full game."""
ROWS: dict[RowName, tuple[str, ...]] = {
    "random": ("full",),
    "from_6x6": ("simplest", "full"),
    "from_dyna": ("simplest", "dyna", "full"),
    "from_dyna_group": ("simplest", "dyna", "dyna_group", "full"),
    "trained_on_6x6": ("simplest", "dyna", "dyna_group", "full"),
    "trained_on_10x10": ("simplest", "dyna", "dyna_group", "full_10x10"),
}


def plan(config: CurriculumConfig, row: RowName, seed: int) -> Curriculum:
    """The stages of one row with one seed."""
    return Curriculum(tuple(_stage(config, ROWS[row], name, seed) for name in ROWS[row]))


def _stage(config: CurriculumConfig, names: tuple[str, ...], name: str, seed: int) -> Stage:
    changes: dict[str, Any] = {"task": dataclasses.replace(config.task, **GAMES[name])}
    if name == "simplest":
        changes["budget_env_steps"] = config.first_stage_env_steps
    if name == names[-1] and len(names) > 1:
        changes["learner"] = dataclasses.replace(config.learner, learning_rate=config.last_learning_rate)
    own = dataclasses.replace(config, **changes)
    is_tested_later = name == "full"
    return Stage(
        name=name,
        plan=plan_one(own, "txt2pi", seed),
        promotion=Promotion("valid/win_rate", config.promote_at, over=2) if config.promote_at else None,
        test=None if is_tested_later else functools.partial(_test, own),
    )


def _test(config: CurriculumConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """A column for what the stage's team does in the stage's own game."""
    world = make_world(config.task, config.test_episodes)
    return {column("train", config.task.size): play(world, policy)}
