"""Training runs, built from settings: the six networks of RTFM's table 1, and all methods of rock-paper-scissors.

`transferred` learns seen games and then unseen ones, `from_scratch` only these (figure 11): their win rates in unseen
games measure speed of learning, not generalisation. Methods with supervised attention, a component of the
mention-matching reader, or that reader are not the paper's.
"""

import dataclasses
import functools
from typing import cast

import numpy as np
import torch

from rl_envs.rtfm.arena import Arena
from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.lexicon import KIND_AGENT, KIND_MONSTER, YOU
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import OptimiserSettings, optimiser_settings
from rl_models.layers.words import Cell
from rl_models.losses.attention_supervision import AttentionSupervision
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.losses.mention_contrast import MentionContrast
from rl_models.losses.mention_warm_start import MentionWarmStart
from rl_models.networks.matching import MatchingSizes
from rl_models.networks.readers import PAPER_READER, ReaderConfig
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import PAPER, CnnConfig, FilmConfig, ReadingConfig, Txt2PiConfig
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.text.token_states import WordStates
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
    MatchingRunConfig,
    MethodName,
    NetworkSettings,
    RunConfig,
    Task,
    as_learned,
    make_world,
)
from tune_experiments.rtfm.evaluation import validate
from tune_experiments.rtfm.matching_config import CHANGES, MatchingRow, MatchingSettings


def team_config(method: MethodName, settings: NetworkSettings) -> ReaderTeamConfig:
    """Network and heads of one method."""
    is_paper = settings.form == "paper"
    hidden = settings.features if is_paper else 0
    return ReaderTeamConfig(_chosen(_network(method, settings), settings), hidden, only_legal_moves=not is_paper)


def _chosen(network: ReadingConfig, settings: NetworkSettings) -> ReadingConfig:
    """The configuration with all settings but the form."""
    if settings.activation is not None:
        network = dataclasses.replace(network, activation=settings.activation)
    if settings.first_summary is not None and isinstance(network, Txt2PiConfig):
        network = dataclasses.replace(network, first_summary=settings.first_summary)
    return network


def _network(method: MethodName, settings: NetworkSettings) -> ReadingConfig:
    if method in ("cnn", "film"):
        return _baseline(method, settings)
    is_paper = settings.form == "paper"
    reader = dataclasses.replace(
        PAPER_READER if is_paper else ReaderConfig(),
        document_hidden_size=settings.document_hidden_size,
        goal_hidden_size=settings.goal_hidden_size,
        inventory_hidden_size=settings.inventory_hidden_size,
        attends_to_goal=method != "no_task_attn",
        attends_to_grid=method != "no_vis_attn",
    )
    return dataclasses.replace(
        PAPER if is_paper else Txt2PiConfig(),
        reader=reader,
        word_features=settings.word_features,
        channels=settings.channels,
        features=settings.features,
        modulates_text=method != "no_text_mod",
    )


def _baseline(method: MethodName, settings: NetworkSettings) -> ReadingConfig:
    document, inventory = settings.document_hidden_size, settings.inventory_hidden_size
    cell: Cell = "lstm" if settings.form == "paper" else "gru"
    widths = settings.word_features, settings.channels, settings.features
    if method == "cnn":
        return CnnConfig(cell, document, document, document, *widths)
    return FilmConfig(cell, document, inventory, inventory, *widths)


def plan(config: RunConfig, method: MethodName, seed: int, extra_losses: tuple[ExtraLoss, ...] = ()) -> TrialPlan:
    """One method with one seed."""
    learner, budget = config.learner, config.budget_env_steps
    return TrialPlan(
        make_world=functools.partial(make_world, config.task),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=make_objective(learner, learner.entropy_schedule(budget), extra_losses),
        optimiser=optimiser_settings(learner, learner.learning_rate, budget),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config),
    )


def build_policy(config: RunConfig, method: MethodName, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    observed = sizes(config.task, config.network.text_encoder)
    return reader_team(team_config(method, config.network), observed, NUM_MOVES, seed)


def sizes(task: Task, text_encoder: str = "") -> ReadingSizes:
    """Sizes of a task's worlds for a reading network, whose words are learned or read by a frozen encoder."""
    world = make_world(task)
    assert isinstance(world, Arena)
    names = torch.from_numpy(world.tables["name_words"].astype(np.int64))
    states = functools.partial(WordStates, text_encoder, world.vocabulary) if text_encoder else None
    return ReadingSizes(world.num_agents, len(world.vocabulary), names, make_states=states)


def matching_plan(
    config: MatchingRunConfig, row: MatchingRow, seed: int, extra_losses: tuple[ExtraLoss, ...] = ()
) -> TrialPlan:
    """Plan of the reader, or of an ablation, with one seed and perhaps further losses."""
    settings: MatchingSettings = dataclasses.replace(config.matching, **CHANGES[row])
    own = as_learned(dataclasses.replace(config, matching=settings), budget_env_steps=settings.budget_env_steps)
    weight = settings.contrastive_coef
    losses = (*extra_losses, *[MentionContrast(Schedule.constant(weight))] * (weight > 0))
    build = functools.partial(build_matching, config.task, settings, seed)
    return dataclasses.replace(plan(own, "txt2pi", seed, losses), build_policy=build)


def build_matching(task: Task, settings: MatchingSettings, seed: int) -> TeamPolicy:
    """The team with its initial weights."""
    config = ReaderTeamConfig(settings.network(), shares_network=settings.shares_network)
    return reader_team(config, matching_sizes(task), NUM_MOVES, seed)


def matching_sizes(task: Task) -> MatchingSizes:
    """Sizes of a task's worlds for the network: agents but the viewer, monsters and items are nodes."""
    world, shared = make_world(task), sizes(task)
    assert isinstance(world, Arena)
    kinds = world.tables["name_kinds"].astype(np.int64)
    kinds[kinds < KIND_AGENT] = kinds[YOU] = 0
    (end,) = world.lexicon.encode(".")
    words = shared.vocabulary, shared.names
    return MatchingSizes(shared.num_agents, *words, torch.from_numpy(kinds), end, world.most_shown)


def plan_letters(config: LettersConfig, row: LettersRow, seed: int) -> TrialPlan | Curriculum:
    """One method with one seed."""
    if row == SUPERVISED:
        return supervised(config, seed)
    if row in CHANGES:
        return matching_plan(config, cast(MatchingRow, row), seed)
    if row in HELPED:
        return helped(config, row, seed)
    if row == RANDOM:
        return random_plan(config, seed)
    method = cast(MethodName, row.removesuffix("_transferred").removesuffix("_from_scratch"))
    seen = plan(config, method, seed)
    if row == method:
        return seen
    second = plan(dataclasses.replace(config, budget_env_steps=config.transfer_env_steps), method, seed)
    unseen = dataclasses.replace(second, make_world=functools.partial(make_world, config.task, split="eval"))
    if row.endswith("_from_scratch"):
        return unseen
    return Curriculum((Stage(name="seen", plan=seen), Stage(name="unseen", plan=unseen)))


def supervised(config: LettersConfig, seed: int) -> TrialPlan:
    """txt2pi with attention supervision: the same network, with the answer as an input of the loss only."""
    supervision = AttentionSupervision(Schedule.constant(config.attention_coef))
    return dataclasses.replace(
        plan(config, "txt2pi", seed, (supervision,)),
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
    return dataclasses.replace(plan(config, "txt2pi", seed, losses.get(row, ())), build_policy=build)


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
        plan(dataclasses.replace(config, budget_env_steps=1), "txt2pi", seed),
        build_policy=functools.partial(uniform_team, 1, NUM_MOVES),
        optimiser=OptimiserSettings(learning_rate=Schedule.constant(0.0)),
    )


def _showing_attention(config: LettersConfig, seed: int) -> TeamPolicy:
    policy = build_policy(config, "txt2pi", seed)
    policy.network.shows_attention = True  # type: ignore[attr-defined]
    return policy
