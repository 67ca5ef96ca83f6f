"""Trained methods of the frozen lake, and their tests with every planner.

A test of `sama` combines a planner (by knowledge of its rules, or by method of naming goals) and an executor: the
learned policy, or a scripted walker.
"""

from __future__ import annotations

import dataclasses
import functools
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from rl_envs.frozen_lake_spread.maps import get_lake
from rl_envs.frozen_lake_spread.world import ACTIONS, NUM_AGENTS, FrozenLakeSpread
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import OptimiserSettings, optimiser_settings
from rl_models.networks.parts import Part
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.parts_team import parts_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests, TrialPlan
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.sama.frozen_lake.config import BY_RULES, LakeConfig
from tune_experiments.sama.frozen_lake.domain import Knowledge, LakeDomain
from tune_experiments.sama.frozen_lake.play import LakePlay, walker
from tune_experiments.sama.frozen_lake.world import CommandedLake, SubgoalLake
from tune_experiments.sama.planning import make_planning_loop, warn_about_fallbacks
from tune_experiments.sama.planning_metrics import planning_metrics
from tune_experiments.sama.play import Executor, PlannedPlay, learned_executor

SAMA, MAPPO, WALKER = "sama", "mappo", "walker"
VALIDATION_SEED, TEST_SEED = 101, 202
RANDOM_COMMANDS = "random commands"
_RULES: dict[str, tuple[Knowledge, dict[str, Any]]] = {
    "sama blind": ("blind", {}),
    "sama remembering": ("remembering", {}),
    "sama privileged": ("privileged", {}),
    "deps": ("blind", {"goals": "deps"}),
    "plan4mc": ("blind", {"goals": "plan4mc"}),
    RANDOM_COMMANDS: ("blind", {"random_share": 1.0, "reflections": 0}),
}
"""Planner by rule -> knowledge of its rules, and changed settings; without reflection for random commands."""
PLANNERS = tuple(_RULES)
_TOLD: tuple[Knowledge, ...] = ("blind", "privileged")
"""Knowledge of other planners, one test each."""
GAME = "frozen_lake_spread"
BY = ", "
"""Between planner and executor in the condition of a test."""


def plan(config: LakeConfig, method: str, seed: int) -> TrialPlan:
    """One method with one seed."""
    if method == WALKER:
        return _plan_without_training(config, seed)
    return TrialPlan(
        make_world=functools.partial(make_world, config, method),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=make_objective(config.learner, config.learner.entropy_schedule(config.budget_env_steps)),
        optimiser=optimiser_settings(config.learner, config.learner.learning_rate, config.budget_env_steps),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config, method),
    )


def _plan_without_training(config: LakeConfig, seed: int) -> TrialPlan:
    """Plan without training; its policy is not used."""
    return TrialPlan(
        make_world=functools.partial(make_world, config, WALKER),
        build_policy=lambda: uniform_team(NUM_AGENTS, len(ACTIONS)),
        objective=make_objective(config.learner, Schedule.constant(0.0)),
        optimiser=OptimiserSettings(learning_rate=Schedule.constant(0.0)),
        seed=seed,
        **config.plan_arguments(),
        validate=lambda policy: {},
        make_algorithm=NoTraining,
        learns=False,
    )


def make_world(config: LakeConfig, method: str, num_worlds: int = 1, first_world: int = 0) -> FrozenLakeSpread:
    """Training worlds: the game itself, or rounds with random sub-goals."""
    if method == MAPPO:
        return FrozenLakeSpread(num_worlds, first_world, observations=("one_hot",), **config.world())
    return SubgoalLake(num_worlds, first_world, max_episode_steps=config.max_round_steps, **config.world())


def build_policy(config: LakeConfig, method: str, seed: int) -> TeamPolicy:
    """The team of a method with its initial weights: agents observe both cells, and in `sama` their own commands."""
    spec = make_world(config, method).observation_spec
    parts = [Part(key, spec[key].shape) for key in ("one_hot", "command") if key in spec]
    kind: Any = "mappo" if method == MAPPO else "ippo"
    return parts_team(config.network, parts, NUM_AGENTS, len(ACTIONS), kind, seed=seed)


def validate(config: LakeConfig, method: str, policy: TeamPolicy) -> Episodes:
    """Greedy episodes in the method's training worlds."""
    with closing(make_world(config, method, config.valid_episodes)) as world:
        return Evaluation(world, policy, is_greedy=True).run(VALIDATION_SEED)


def evaluate(config: LakeConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None) -> Tests:
    """The game itself and random play, or every planner with the learned team and with the walker."""
    if method == MAPPO:
        uniform = uniform_team(NUM_AGENTS, len(ACTIONS))
        return {Tested(GAME): play_game(config, policy), Tested(GAME, method=RANDOM): play_game(config, uniform)}
    executors: dict[str, Executor] = {"learned": learned_executor(policy, is_greedy=True), WALKER: walker}
    return {
        Tested(GAME, f"{planner}{BY}{name}"): planned(config, planner, executor, trial_folder)
        for planner in planner_names(config)
        for name, executor in executors.items()
        if name == WALKER or method != WALKER
    }


def planner_names(config: LakeConfig) -> list[str]:
    """Planners of the tests: rules, and the configured planner with each kind of knowledge."""
    others = [] if config.planner == "offline" else [f"{config.planner} {variant}" for variant in _TOLD]
    return [*PLANNERS, *others]


def play_game(config: LakeConfig, policy: TeamPolicy) -> Episodes:
    """Whole episodes without a planner, actions sampled; metrics of the world."""
    world = FrozenLakeSpread(config.test_episodes, observations=("one_hot",), **config.world())
    found = Evaluation(world, policy).run(TEST_SEED)
    return {name: found[name] for name in ("success", "arrivals", "fell")}


def planned(config: LakeConfig, planner: str, executor: Executor, trial_folder: Path | None = None) -> Episodes:
    """Whole episodes with one of `planner_names`; only one episode if everything is deterministic."""
    has_chance = config.slippery or planner == RANDOM_COMMANDS
    episodes = config.test_episodes if has_chance else 1
    knowledge, changes = _RULES.get(planner, (planner.rpartition(" ")[2], None))
    asked = config if changes is None else dataclasses.replace(config, **BY_RULES | changes)
    loop = make_planning_loop(asked, knowledge, TEST_SEED, trial_folder)
    domain = LakeDomain(get_lake(config.map, config.map_seed), cast(Knowledge, knowledge))
    world = CommandedLake(episodes, **config.world())
    found = PlannedPlay(LakePlay(world, domain), executor, loop, config.max_round_steps).run(TEST_SEED)
    if changes is not None:
        return found
    warn_about_fallbacks(loop, config)
    return found | planning_metrics(loop, config, episodes)
