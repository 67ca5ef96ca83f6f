"""Plan of a trial: one method in one kitchen, `sama-cramped_room`.

The trial's own process queries the planner at its start for states, their sub-goals and tests of completion (SAMA,
sections 3.1 to 3.3); environments for display have pairs of the offline planner.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.observation import SYMBOLS
from rl_envs.overcooked.text import read_states
from rl_models.networks.sama import SamaSizes
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Failure, Memory, Pair
from rl_models.planners.preparation import deduplicate_subgoals, generate_states
from rl_models.planners.rewards import DesignedReward, RewardDesigner, RewardSource, Transitions
from rl_models.planners.rounds import PlanningLoop
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
from tune_experiments.sama.overcooked.config import (
    BLIND,
    CODE,
    MAPPO,
    SCRIPTED,
    SELF_PLAY,
    SamaConfig,
    method_names,
    split_method,
)
from tune_experiments.sama.overcooked.domain import command_texts, get_domain
from tune_experiments.sama.overcooked.play import play_under
from tune_experiments.sama.overcooked.world import NUM_CHEFS, CommandedKitchen, SubgoalKitchen, SymbolKitchen
from tune_experiments.sama.planner_config import RULES
from tune_experiments.sama.planning import game_code, make_planner, read_manual, warn_about_fallbacks
from tune_experiments.sama.play import TeamWithSeed, learned_executor

VALIDATION_SEED = 500
"""Seed of validation states and actions; training and tests have other seeds."""
_VALIDATION_STATES, _SHOWN_STATES = 200, 8
_TRIAL_WORLDS, _TRIAL_STEPS = 64, 60
"""Size of the random play on which a model's rewards are tried: worlds, and env steps in each."""


@dataclass(frozen=True)
class TrainingData:
    """States with the chefs' commands (`pairs`), and a model's tests of sub-goals (`rewards`)."""

    pairs: tuple[Pair, ...]
    rewards: tuple[DesignedReward, ...]


def prepare_training_data(planner: Planner, layout: str, states: int, source: RewardSource, seed: int) -> TrainingData:
    """States of one kitchen, their sub-goals by the planner, and rewards from `source`."""
    kitchen = CommandedKitchen(layout=layout)
    kitchen.reset(seed)
    found = generate_states(
        planner.caller, get_domain(layout), planner.manual, [kitchen.describe_state(0)], states, seed
    )
    pairs = _pairs(planner, found)
    rewards = [] if source == "builtin" else _designed(planner, layout, seed, pairs)
    return TrainingData(tuple(pairs), tuple(rewards))


def _pairs(planner: Planner, states: Sequence[str]) -> list[Pair]:
    """The best plan of every state, and for every other state also the next best."""
    first = planner.plan(states)
    failed = first[::2]
    memories = [Memory() for _ in failed]
    for plan, memory in zip(failed, memories, strict=True):
        memory.failures.append(Failure(plan, "decomposition"))
    second = planner.plan([plan.state for plan in failed], memories=memories)
    return [(plan.state, plan.commands) for plan in (*first, *second)]


def _designed(planner: Planner, layout: str, seed: int, pairs: Sequence[Pair]) -> list[DesignedReward]:
    """Tests of the planned sub-goals by a model; none of those that it calls duplicates of others."""
    domain, play = get_domain(layout), random_play(layout, seed)
    designer = RewardDesigner(planner.caller, domain, play, planner.manual, game_code(domain.source))
    planned = dict.fromkeys(text for _, commands in pairs for text in commands)
    kept = deduplicate_subgoals(planner.caller, planner.domain, list(planned))
    return [*designer.design(kept), *(DesignedReward(text) for text in planned if text not in kept)]


def random_play(layout: str, seed: int) -> Transitions:
    """Random transitions from diverse states."""
    world = CommandedKitchen(_TRIAL_WORLDS, layout=layout, actions="any")
    world.reset(seed)
    world.restore(read_states(world.kitchen, get_domain(layout).diverse_states(_TRIAL_WORLDS, seed)))
    numbers, before, after, texts = np.random.default_rng(seed), [], [], []
    for _ in range(_TRIAL_STEPS):
        words = [world.describe_state(index) for index in range(_TRIAL_WORLDS)]
        before.append({name: value.copy() for name, value in world.state.items()})
        world.step(numbers.integers(world.kitchen.size, size=(_TRIAL_WORLDS, 2)))
        after.append({name: value.copy() for name, value in world.state.items()})
        texts += [(old, world.describe_state(index)) for index, old in enumerate(words)]
    return Transitions.join(before, after, texts)


def offline_planner(layout: str) -> Planner:
    """The offline planner, whatever the run's."""
    return make_planner(SamaConfig(planner="offline"), layout, seed=0)


def plan(config: SamaConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
    """Plan of a trial; arguments of `Experiment.plan`. A UserError for an unknown method."""
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
        validate=functools.partial(validate, config, method),
        **_weight_selection(config),
        make_algorithm=functools.partial(prepare_algorithm, config, layout, seed, trial_folder),
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


def validate(config: SamaConfig, method: str, policy: TeamPolicy) -> Episodes:
    """Rounds from states that are not in training, and `soups` of whole episodes, all with the offline planner.

    Nothing is undone in these episodes. Their actions are sampled: a kitchen is deterministic, so with the most likely
    actions validation would be the test, and the reported result would choose the weights.
    """
    row, layout = split_method(method)
    data = prepare_training_data(offline_planner(layout), layout, _VALIDATION_STATES, "builtin", VALIDATION_SEED)
    with closing(
        make_rounds(config, layout, config.valid_episodes, pairs=data.pairs, sees_commands=row != BLIND)
    ) as world:
        found = Evaluation(world, policy, is_greedy=config.is_greedy).run(VALIDATION_SEED)
    loop = PlanningLoop(offline_planner(layout), max_reflections=0)
    whole = play_under(loop, config, method, learned_executor(policy), config.test_episodes, seed=VALIDATION_SEED)
    return found | {"soups": whole["soups"]}


def prepare_algorithm(
    config: SamaConfig,
    layout: str,
    seed: int,
    trial_folder: Path | None,
    trial: TrialPlan,
    visited: Sequence[Pair] = (),
) -> Algorithm:
    """RLlib's algorithm, with training data by the planner for the seed of a trial, and states that a team visited."""
    planner = make_planner(config, layout, seed, trial_folder)
    data = prepare_training_data(planner, layout, config.states, config.reward_source, seed)
    counts = planner.caller.counts
    warn_about_fallbacks(counts, config)
    by_rule = None if config.planner in RULES else counts.get("fallback", 0) / max(1, counts["asked"])
    pairs = mixed(data.pairs, visited)
    return make_team_algorithm(with_training_data(trial, planner.manual, pairs, data.rewards, by_rule))


def mixed(made: Sequence[Pair], met: Sequence[Pair]) -> list[Pair]:
    """Pairs that rounds begin from: visited states are repeated to make up about half."""
    return [*made, *list(met) * max(1, round(len(made) / max(1, len(met))))]


def with_training_data(
    trial: TrialPlan,
    manual: str,
    pairs: Sequence[Pair],
    rewards: Sequence[DesignedReward],
    by_rule: float | None = None,
) -> TrialPlan:
    """The plan with its training data: so that processes need neither a planner nor the trial's folder."""
    build_policy: Callable[..., TeamPolicy] = trial.build_policy
    return dataclasses.replace(
        trial,
        make_world=functools.partial(trial.make_world, pairs=pairs, rewards=rewards, by_rule=by_rule),
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
    shared: dict[str, Any] = {**config.plan_arguments(), "test_episodes": config.test_episodes}
    return OvercookedConfig(task=layout, max_episode_steps=config.max_episode_steps, **shared | changes)


def commanded_team(
    config: SamaConfig, layout: str, seed: int, trial_folder: Path | None = None, manual: str | None = None
) -> TeamPolicy:
    """Policy of chefs that read commands and a manual, by default the trial's own."""
    commands, kitchen = command_texts(layout), Kitchen(LAYOUTS[layout])
    sizes = SamaSizes(NUM_CHEFS, len(SYMBOLS), kitchen.height, kitchen.width, len(commands))
    lines = (manual or read_manual(config, layout, trial_folder)).splitlines()
    sentences = (*commands, *filter(None, map(str.strip, lines)))
    team = sama_team(config.network, sizes, lambda: text_encoder(config.encoder, sentences, sentences), seed)
    return TeamWithSeed(team, seed)
