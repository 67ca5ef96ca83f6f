"""Rows of rock-paper-scissors: a network that trains on seen games, or also or only on those it is tested with.

RTFM, figure 11: `transferred` learns seen games first and then unseen ones, `from_scratch` only these. Their win rates
in unseen games are of games that they trained on, so they say how fast one learns and not whether one generalises.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import cast

from tune_experiments.common.curriculum import Curriculum, Stage
from tune_experiments.common.plan import TrialPlan
from tune_experiments.common.rtfm.config import LettersConfig, LettersRow, MethodName, make_world
from tune_experiments.common.rtfm.trials import plan as plan_one


def plan(config: LettersConfig, row: LettersRow, seed: int) -> TrialPlan | Curriculum:
    """One row with one seed."""
    name, _, way = row.partition("_")
    method = cast(MethodName, name)
    seen = plan_one(config, method, seed)
    if not way:
        return seen
    second = plan_one(dataclasses.replace(config, budget_env_steps=config.transfer_env_steps), method, seed)
    unseen = dataclasses.replace(second, make_world=functools.partial(make_world, config.task, split="eval"))
    if way == "from_scratch":
        return unseen
    return Curriculum((Stage(name="seen", plan=seen), Stage(name="unseen", plan=unseen)))
