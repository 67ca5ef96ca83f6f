"""Methods of rock-paper-scissors: a network that trains on seen games, on test games, or on both.

RTFM, figure 11: `transferred` learns seen games first and then unseen ones, `from_scratch` only these. Their win rates
in unseen games are of games that they trained on, so they measure speed of learning, not generalisation.

Other methods are not the paper's: txt2pi with an auxiliary loss that names the word to attend to; txt2pi with one
component of our mention-matching reader; that reader itself; and random moves.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import cast

import torch

from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.lexicon import KIND_MONSTER
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.losses.attention_supervision import AttentionSupervision
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.losses.mention_contrast import MentionContrast
from rl_models.losses.mention_warm_start import MentionWarmStart
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.reader_team import reader_team
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage, TrialPlan
from tune_experiments.rtfm.config import (
    CONTRASTIVE,
    HELPED,
    RANDOM,
    SHARED_WORDS,
    SUPERVISED,
    WARM_START,
    LettersConfig,
    LettersRow,
    MethodName,
    make_world,
)
from tune_experiments.rtfm.matching import matching_plan
from tune_experiments.rtfm.matching_config import CHANGES, MatchingRow
from tune_experiments.rtfm.methods import team_config
from tune_experiments.rtfm.trials import build_policy, sizes
from tune_experiments.rtfm.trials import plan as plan_one


def plan(config: LettersConfig, row: LettersRow, seed: int) -> TrialPlan | Curriculum:
    """One method with one seed."""
    if row == SUPERVISED:
        return supervised(config, seed)
    if row in CHANGES:
        return matching_plan(config, cast(MatchingRow, row), seed)
    if row in HELPED:
        return helped(config, row, seed)
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
    """txt2pi with attention supervision: the same network, with the answer as an input of the loss only."""
    supervision = AttentionSupervision(Schedule.constant(config.attention_coef))
    return dataclasses.replace(
        plan_one(config, "txt2pi", seed, (supervision,)),
        make_world=functools.partial(make_world, config.task, tells_answer=True),
        build_policy=functools.partial(_showing_attention, config, seed),
    )


def helped(config: LettersConfig, row: LettersRow, seed: int) -> TrialPlan:
    """txt2pi with one component of the mention-matching reader."""
    losses: dict[LettersRow, tuple[ExtraLoss, ...]] = {
        CONTRASTIVE: (MentionContrast(Schedule.constant(config.contrastive_coef)),),
        WARM_START: (_warm_start(config),),
    }
    build = functools.partial(build_transfer, config, row, seed)
    return dataclasses.replace(plan_one(config, "txt2pi", seed, losses.get(row, ())), build_policy=build)


def build_transfer(config: LettersConfig, row: LettersRow, seed: int) -> TeamPolicy:
    """The team of txt2pi with one component of the mention-matching reader, with its initial weights."""
    if row == WARM_START:
        return _showing_attention(config, seed)
    team = team_config("txt2pi", config.network)
    assert isinstance(team.network, Txt2PiConfig)
    reader = dataclasses.replace(team.network.reader, shares_words=row == SHARED_WORDS)
    network = dataclasses.replace(team.network, reader=reader, contrasts=row == CONTRASTIVE)
    return reader_team(
        dataclasses.replace(team, network=network), sizes(config.task, config.network.text_encoder), NUM_MOVES, seed
    )


def _warm_start(config: LettersConfig) -> MentionWarmStart:
    world, known = make_world(config.task), sizes(config.task)
    is_monster = torch.from_numpy(world.tables["name_kinds"] == KIND_MONSTER)
    falling = Schedule.linear(config.warm_start_coef, 0.0, config.warm_start_env_steps)
    return MentionWarmStart(falling, known.names, is_monster, known.vocabulary)


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
