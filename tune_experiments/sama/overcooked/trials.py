"""Plan of a trial: one method in one kitchen, `sama-cramped_room`.

The trial's own process queries the planner at its start; environments for display have pairs of the offline planner.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.observation import SYMBOLS
from rl_models.networks.sama import SamaSizes
from rl_models.planners.rewards import DesignedReward
from rl_models.planners.rounds import PlanningLoop
from rl_models.planners.subgoal_data import Pair
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.sama_team import sama_team
from rl_models.text.choice import text_encoder
from rl_models.training.algorithm import Algorithm
from rl_models.training.evaluation import Evaluation
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import Episodes, TrialPlan, make_team_algorithm
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.overcooked import trials as overcooked
from tune_experiments.overcooked.config import OvercookedConfig, world_arguments
from tune_experiments.overcooked.evaluation import EVALUATION_SEED, play_team
from tune_experiments.sama.overcooked.config import SamaConfig
from tune_experiments.sama.overcooked.domain import command_texts, get_domain, manual_sentences
from tune_experiments.sama.overcooked.play import KitchenPlay
from tune_experiments.sama.overcooked.training_data import offline_planner, prepare_training_data
from tune_experiments.sama.overcooked.world import NUM_CHEFS, CommandedKitchen, SubgoalKitchen, SymbolKitchen
from tune_experiments.sama.planning import make_planner, read_manual
from tune_experiments.sama.play import PlannedPlay, TeamWithSeed, learned_executor

SAMA, SELF_PLAY, MAPPO, BLIND, CODE, SCRIPTED = "sama", "selfplay", "mappo", "blind", "code", "scripted"
VALIDATION_SEED = 500
"""Seed of validation states and actions; training and tests have other seeds."""
_VALIDATION_STATES, _SHOWN_STATES = 200, 8


def method_names(config: SamaConfig) -> list[str]:
    """Every method in every kitchen."""
    return [f"{row}-{layout}" for layout in config.tasks for row in config.methods]


def split_method(method: str) -> tuple[str, str]:
    """Name and kitchen of a method."""
    row, _, layout = method.partition("-")
    return row, layout


def plan(config: SamaConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
    """Plan of a trial; `trial_folder` as for `Experiment.plan`.

    Raises:
        UserError: An unknown method.
    """
    if method not in method_names(config):
        raise UserError(f"a method must be one of {', '.join(method_names(config))}, not {method!r}")
    row, layout = split_method(method)
    if row in UNPLANNED:
        return _unplanned(config, row, layout, seed)
    if row == SCRIPTED:
        return _scripted(config, layout, seed)
    config = configure_method(config, row)
    return dataclasses.replace(
        overcooked.make_plan(_as_overcooked(config, layout, learner=config.learner), overcooked.MethodParts(), seed),
        make_world=functools.partial(make_rounds, config, layout, sees_commands=row != BLIND),
        build_policy=functools.partial(commanded_team, config, layout, seed, trial_folder),
        validate=functools.partial(validate, config, layout, row != BLIND),
        **_weight_selection(config),
        make_algorithm=functools.partial(_prepared_algorithm, config, layout, trial_folder),
    )


def configure_method(config: SamaConfig, row: str) -> SamaConfig:
    """The settings with the reward source of a method."""
    return dataclasses.replace(config, reward_source="code") if row == CODE else config


def make_rounds(
    config: SamaConfig,
    layout: str,
    num_worlds: int = 1,
    first_world: int = 0,
    pairs: Sequence[Pair] | None = None,
    **arguments: Any,
) -> SubgoalKitchen:
    """Training environments; by default with a few pairs of the offline planner."""
    return SubgoalKitchen(
        num_worlds,
        first_world,
        layout=layout,
        pairs=pairs or prepare_training_data(offline_planner(layout), layout, _SHOWN_STATES, "builtin", 0).pairs,
        share=config.share,
        max_episode_steps=config.round_steps,
        **arguments,
    )


def validate(config: SamaConfig, layout: str, sees_commands: bool, policy: TeamPolicy) -> Episodes:
    """Rounds from states that are not in training, and `soups` of whole episodes, all with the offline planner.

    Nothing is undone in these episodes. Their actions are sampled: a kitchen is deterministic, so with the most likely
    actions validation would be the test, and the reported result would choose the weights.
    """
    data = prepare_training_data(offline_planner(layout), layout, _VALIDATION_STATES, "builtin", VALIDATION_SEED)
    with closing(
        make_rounds(config, layout, config.valid_episodes, pairs=data.pairs, sees_commands=sees_commands)
    ) as world:
        found = Evaluation(world, policy, is_greedy=config.is_greedy).run(VALIDATION_SEED)
    kitchen = CommandedKitchen(
        config.test_episodes,
        layout=layout,
        sees_commands=sees_commands,
        max_episode_steps=config.max_episode_steps,
    )
    with closing(kitchen):
        loop = PlanningLoop(offline_planner(layout), max_reflections=0)
        play = PlannedPlay(KitchenPlay(kitchen), learned_executor(policy), loop, config.round_steps)
        return found | {"soups": play.run(VALIDATION_SEED)["soups"]}


def _prepared_algorithm(config: SamaConfig, layout: str, trial_folder: Path | None, trial: TrialPlan) -> Algorithm:
    """Algorithm with states, sub-goals and rewards of the planner."""
    planner = make_planner(config, layout, trial.seed, trial_folder)
    data = prepare_training_data(planner, layout, config.states, config.reward_source, trial.seed)
    return make_team_algorithm(with_training_data(trial, planner.manual, data.pairs, data.rewards))


def with_training_data(
    trial: TrialPlan, manual: str, pairs: Sequence[Pair], rewards: Sequence[DesignedReward]
) -> TrialPlan:
    """The plan with its training data: so that processes need neither a planner nor the trial's folder."""
    build_policy: Callable[..., TeamPolicy] = trial.build_policy
    return dataclasses.replace(
        trial,
        make_world=functools.partial(trial.make_world, pairs=pairs, rewards=rewards),
        build_policy=functools.partial(build_policy, manual=manual),
    )


def make_symbol_kitchen(
    settings: OvercookedConfig, num_worlds: int = 1, first_world: int = 0, **arguments: Any
) -> SymbolKitchen:
    """Whole episodes of the game, with the observations and actions of SAMA's network."""
    return SymbolKitchen(num_worlds, first_world, **world_arguments(settings) | arguments)


UNPLANNED = {SELF_PLAY: overcooked.METHODS[SELF_PLAY], MAPPO: overcooked.MethodParts(make_world=make_symbol_kitchen)}
"""Methods that learn the game itself with shaped rewards, and are tested without a planner."""


def play_unplanned(
    row: str,
    settings: OvercookedConfig,
    episodes: int,
    is_greedy: bool,
    policy: TeamPolicy,
    seed: int = EVALUATION_SEED,
) -> Episodes:
    """Whole episodes of a team without a planner, with rewards for soups alone."""
    return play_team(UNPLANNED[row].make_world(settings, episodes), policy, is_greedy, seed=seed)


def _unplanned(config: SamaConfig, row: str, layout: str, seed: int) -> TrialPlan:
    settings = _as_overcooked(config, layout)
    build: Callable[[], TeamPolicy] = functools.partial(
        commanded_team, config, layout, seed, manual=get_domain(layout).manual
    )
    if row == SELF_PLAY:
        build = functools.partial(overcooked.self_play_team, settings, seed)
    return dataclasses.replace(
        overcooked.make_plan(settings, UNPLANNED[row], seed),
        build_policy=build,
        validate=functools.partial(play_unplanned, row, settings, config.test_episodes, False, seed=VALIDATION_SEED),
        **_weight_selection(config),
    )


def _scripted(config: SamaConfig, layout: str, seed: int) -> TrialPlan:
    """Plan without training; its policy is not used."""
    return dataclasses.replace(
        overcooked.make_plan(_as_overcooked(config, layout, learner=config.learner), overcooked.MethodParts(), seed),
        make_world=functools.partial(make_rounds, config, layout),
        build_policy=lambda: TeamWithSeed(uniform_team(NUM_CHEFS, 1), seed),
        validate=lambda policy: {},
        make_algorithm=NoTraining,
        learns=False,
    )


def _weight_selection(config: SamaConfig) -> dict[str, Any]:
    """Selection of the tested weights, the same for all methods: most soups in validation, the later of equals."""
    return {"chosen_by": "soups" if config.weights == "validated" else None, "chooses_last": True}


def _as_overcooked(config: SamaConfig, layout: str, **changes: Any) -> OvercookedConfig:
    """The common settings of both kinds of methods."""
    shared: dict[str, Any] = {**config.plan_arguments(), "test_episodes": config.test_episodes}
    return OvercookedConfig(task=layout, max_episode_steps=config.max_episode_steps, **shared | changes)


def commanded_team(
    config: SamaConfig, layout: str, seed: int, trial_folder: Path | None = None, manual: str | None = None
) -> TeamPolicy:
    """Policy of chefs that read commands and a manual, by default the trial's own."""
    commands, kitchen = command_texts(layout), Kitchen(LAYOUTS[layout])
    sizes = SamaSizes(NUM_CHEFS, len(SYMBOLS), kitchen.height, kitchen.width, len(commands))
    sentences = (*commands, *manual_sentences(manual or read_manual(config, layout, trial_folder)))
    team = sama_team(config.network, sizes, lambda: text_encoder(config.encoder, sentences, sentences), seed)
    return TeamWithSeed(team, seed)
