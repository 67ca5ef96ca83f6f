"""Training run built from settings: MESSENGER's stages with their worlds, PPO, and weights chosen by validation."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rl_envs.messenger.corpus import STILL
from rl_envs.messenger.games import pairs_of_games
from rl_envs.messenger.symbols import ACTIONS, AVATARS, ENTITIES, MOVEMENTS, ROLES, SIDE, SYMBOLS
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.losses.grounding import GroundingLoss
from rl_models.losses.movement_grounding import MovementGroundingLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.text.choice import text_encoder
from rl_models.text.encoder import SentenceEncoder
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Stage, Tests, TrialPlan
from tune_experiments.messenger.config import (
    GROUNDED,
    MOVING,
    MessengerConfig,
    MessengerRunConfig,
    corpus_of_run,
    make_world,
)
from tune_experiments.messenger.evaluation import evaluate, evaluate_reading, validate

ATTENTION = ("network.reader.key_score.*", "network.reader.key_projection.*", "network.body.symbols.*")
"""Parameters that the release freezes after the first stage. Learned word vectors are still trained: later stages have
words of their own; so do the vectors of movements, since nothing moves in the first stage."""


@dataclass(frozen=True, kw_only=True)
class MethodParts:
    """Components of one method of the table.

    Attributes:
        build_policy: the team with its initial weights, the same in all stages.
        extra_losses: losses besides PPO's.
        attention: patterns of the parameters that find a sentence, for runs that freeze them after the first stage.
        chosen_by: metric of the validation by which weights are chosen; None tests the last.
        evaluate, validate: `(config, stage, policy)`, after a stage and within it.
    """

    build_policy: Callable[[], TeamPolicy]
    extra_losses: tuple[ExtraLoss, ...] = ()
    attention: tuple[str, ...] = ()
    chosen_by: str | None = "win_rate"
    evaluate: Callable[[Any, int, TeamPolicy], Tests] = evaluate
    validate: Callable[[Any, int, TeamPolicy], Episodes] = validate


def plan(config: MessengerConfig, method: str, seed: int) -> Curriculum:
    """The stages of one method with one seed."""
    return plan_stages(config, _method_parts(config, method, seed), seed)


def plan_stages(config: MessengerRunConfig, row: MethodParts, seed: int) -> Curriculum:
    """The stages of a method with one seed."""
    return Curriculum(tuple(_stage(config, row, seed, stage) for stage in config.stages))


def _method_parts(config: MessengerConfig, method: str, seed: int) -> MethodParts:
    losses: tuple[ExtraLoss, ...] = ()
    if method.endswith(GROUNDED):
        losses += (GroundingLoss(Schedule.constant(config.learner.grounding_coef)),)
    if method.startswith(MOVING) and config.movement_grounding_coef:
        losses += (MovementGroundingLoss(Schedule.constant(config.movement_grounding_coef)),)
    return MethodParts(
        build_policy=functools.partial(build_policy, config, method, seed),
        extra_losses=losses,
        attention=ATTENTION if method != "game_id" else (),
        evaluate=choose_evaluation(method),
    )


def choose_evaluation(method: str) -> Callable[[MessengerRunConfig, int, TeamPolicy], Tests]:
    """Test of a method's teams, `(config, stage, policy)`; for methods that read, also their attention."""
    return evaluate if method == "game_id" else evaluate_reading


def _stage(config: MessengerRunConfig, row: MethodParts, seed: int, stage: int) -> Stage:
    is_first, is_last = stage == config.stages[0], stage == config.last_stage
    learner, arguments = config.learner.at_stage(stage), config.stage_arguments(stage)
    budget = arguments["budget_env_steps"]
    plan = TrialPlan(
        make_world=functools.partial(make_world, config, stage),
        build_policy=row.build_policy,
        objective=make_objective(learner, learner.entropy_schedule(budget), row.extra_losses),
        optimiser=optimiser_settings(learner, learner.learning_rate, budget),
        seed=seed,
        **arguments,
        validate=functools.partial(row.validate, config, stage),
        chosen_by=row.chosen_by,
    )
    return Stage(
        name=f"stage_{stage}",
        plan=plan,
        frozen=row.attention if config.freezes_attention and not is_first else (),
        evaluate=None if is_last else functools.partial(row.evaluate, config, stage),
    )


def build_policy(config: MessengerRunConfig, method: str, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights, the same in all stages."""
    reads = method != "game_id"
    sees_movement = method.startswith(MOVING)
    team = EmmaTeamConfig(config.network, reads="manual" if reads else "roles", sees_movement=sees_movement)
    sizes = EmmaSizes(1, len(SYMBOLS), len(AVATARS), SIDE, moments=config.frames)
    encoder = functools.partial(make_encoder, config) if reads else None
    return emma_team(team, sizes, len(ACTIONS), encoder, seed)


def training_sentences(config: MessengerRunConfig) -> list[str]:
    """Sentences about the games of training, of all kinds in the run's stages."""
    corpus, games = corpus_of_run(config)
    kinds = (STILL,) if config.stages == (1,) else range(len(MOVEMENTS))
    described = pairs_of_games(games, "train")
    if 3 in config.stages:  # manuals call decoys enemies, and a distracting sentence may have any role
        described = {(entity, role) for entity in range(len(ENTITIES)) for role in range(len(ROLES))}
    numbers = (number for pair in sorted(described) for kind in kinds for number in corpus.cell("train", *pair, kind))
    return [corpus.sentences[number] for number in numbers]


def make_encoder(config: MessengerRunConfig) -> SentenceEncoder:
    """Encoder of the sentences of a run."""
    corpus, _ = corpus_of_run(config)
    return text_encoder(config.encoder, corpus.sentences, training_sentences(config))
