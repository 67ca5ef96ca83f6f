"""Rows of rock-paper-scissors: a network that trains on seen games, or also or only on those it is tested with.

RTFM, figure 11: `transferred` learns seen games first and then unseen ones, `from_scratch` only these. Their win rates
in unseen games are of games that they trained on, so they say how fast one learns and not whether one generalises.

Three rows are not the paper's: txt2pi whose loss also says, in training, which word of the document to attend to; our
mention-matching reader; and random moves.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import cast

from rl_envs.rtfm.grid import NUM_MOVES
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.losses.attention_supervision import AttentionSupervision
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.tbone_team import uniform_team
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage, TrialPlan
from tune_experiments.rtfm.config import LettersConfig, LettersRow, MethodName, make_world
from tune_experiments.rtfm.matching import matching_plan
from tune_experiments.rtfm.matching_config import CHANGES, MatchingRow
from tune_experiments.rtfm.trials import build_policy
from tune_experiments.rtfm.trials import plan as plan_one

SUPERVISED: LettersRow = "txt2pi_supervised_attention"
RANDOM: LettersRow = "random"


def plan(config: LettersConfig, row: LettersRow, seed: int) -> TrialPlan | Curriculum:
    """One row with one seed."""
    if row == SUPERVISED:
        return supervised(config, seed)
    if row in CHANGES:
        return matching_plan(config, cast(MatchingRow, row), seed)
    if row == RANDOM:
        return random_plan(config, seed)
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


def supervised(config: LettersConfig, seed: int) -> TrialPlan:
    """txt2pi with attention supervision: the same network, whose worlds tell the answer to the loss alone."""
    supervision = AttentionSupervision(Schedule.constant(config.attention_weight))
    return dataclasses.replace(
        plan_one(config, "txt2pi", seed, (supervision,)),
        make_world=functools.partial(make_world, config.task, tells_answer=True),
        build_policy=functools.partial(_showing_attention, config, seed),
    )


def random_plan(config: LettersConfig, seed: int) -> TrialPlan:
    """Uniform moves, for one fragment: a learning rate of 0 leaves them uniform."""
    return dataclasses.replace(
        plan_one(dataclasses.replace(config, budget_env_steps=1), "txt2pi", seed),
        build_policy=functools.partial(uniform_team, 1, NUM_MOVES),
        optimiser=OptimiserSettings(learning_rate=Schedule.constant(0.0)),
    )


def _showing_attention(config: LettersConfig, seed: int) -> TeamPolicy:
    policy = build_policy(config, "txt2pi", seed)
    policy.network.shows_attention = True  # type: ignore[attr-defined]
    return policy
