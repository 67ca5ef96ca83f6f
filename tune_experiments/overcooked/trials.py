"""One training run in Overcooked, built from settings. Methods differ in `MethodParts`; everything else is shared.

An experiment passes its own `MethodParts` to `make_plan`. Partners of fictitious co-play are teams of self-play at
three levels (Strouse et al., NeurIPS 2021): before training, at half of the final reward, and fully trained. Role
methods observe flattened planes, and keep the weight of shaped points, because a replay holds old rewards.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch

from rl_envs.overcooked.words import ACTIONS
from rl_envs.overcooked.world import Overcooked
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.algorithms.qmix import qmix_objective
from rl_models.algorithms.role_objectives import role_objective
from rl_models.networks.qmix_encoders import FirstAgentState, VectorEncoder
from rl_models.networks.role_team_config import RoleMethod
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import copy_on
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.teams.role_team import role_team
from rl_models.training.algorithm import Algorithm
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.on_device import build_on_device
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests, TrialPlan, make_team_algorithm
from tune_experiments.overcooked.cole import Cole
from tune_experiments.overcooked.config import (
    ALL_Q_METHODS,
    COLE,
    SPARSE,
    OvercookedConfig,
    OvercookedRolesConfig,
    make_world,
    world_arguments,
)
from tune_experiments.overcooked.crossplay import SELF_PLAY_OF, find_trials, play_pair
from tune_experiments.overcooked.evaluation import EVALUATION_SEED, VALIDATION_SEED, evaluate, play_team, validate
from tune_experiments.overcooked.partners import KitchenWithMixture, KitchenWithPartners, Mixture
from tune_experiments.play.loading import load_policy
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics

SELF_PLAY = "selfplay"
"""The method of the partners."""
_REWARD = "valid/reward"


def load_population(config: OvercookedConfig) -> list[TeamPolicy]:
    """All partners of a run, frozen; a UserError if no population is named, or it has no team for this kitchen."""
    if not config.population:
        raise UserError(
            "method fcp needs partners: name them with --population RUN, a run of this experiment with "
            "--methods selfplay and several --seeds"
        )
    trials = [one for one in find_trials(Path(config.population), (SELF_PLAY_OF,)) if one.method == SELF_PLAY]
    found = [team.eval().requires_grad_(False) for trial in trials for team in _levels(trial.folder, config.task)]
    if not found:
        raise UserError(f"{config.population} has no trained team of method {SELF_PLAY}; train it first")
    return found


def _levels(trial: Path, layout: str) -> Iterator[TeamPolicy]:
    """The first, a middle and the last team of a trial; none if it has no checkpoint yet."""
    checkpoints = {int(path.name.split("_")[1]): path for path in sorted((trial / "checkpoints").glob("checkpoint_*"))}
    if not checkpoints:
        return
    last = max(checkpoints)
    loaded = load_policy(checkpoints[last])
    if loaded.config.task != layout:
        raise UserError(f"{trial} cooks in {loaded.config.task}, not in {layout}; name a population of this kitchen")
    yield loaded.curriculum.plan.new_policy()
    yield load_policy(checkpoints[halfway(rewards_at(trial, list(checkpoints)))]).policy
    yield loaded.policy


def rewards_at(trial: Path, env_steps: list[int]) -> dict[int, float]:
    """Validation reward at, or last before, each of some numbers of env steps; 0 where there was none yet."""
    rows = [(row["env_steps"], row[_REWARD]) for row in read_metrics(trial / METRICS_FILE) if _REWARD in row]
    return {moment: ([0.0] + [value for steps, value in rows if steps <= moment])[-1] for moment in env_steps}


def halfway(rewards: dict[int, float]) -> int:
    """Env steps with the reward nearest to half of the last, the earliest of several, if possible not the last."""
    last = max(rewards)
    others = sorted(rewards.keys() - {last}) or [last]
    return min(others, key=lambda moment: abs(rewards[moment] - rewards[last] / 2))


def self_play_team(config: OvercookedConfig, seed: int) -> TeamPolicy:
    """Two independent chefs with the same weights."""
    world = make_world(config)
    view = world.observation_spec["lossless"].shape
    return grid_cnn_team(config.network, world.num_agents, (view[0], view[1], view[2]), len(ACTIONS), seed)


def build_objective(config: OvercookedConfig) -> Objective:
    """The loss of all methods that learn by the configured algorithm."""
    return make_objective(config.learner, config.learner.entropy_schedule(config.budget_env_steps))


def training_world(config: OvercookedConfig, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> Overcooked:
    """Training kitchens, perhaps on a GPU."""
    return build_on_device(Overcooked, functools.partial(make_world, config, num_worlds, first_world, **arguments))


@dataclass(frozen=True, kw_only=True)
class MethodParts:
    """Components of one method.

    Attributes:
        is_shaped: whether training has shaped rewards.
        build_policy: `(config, seed)` -> the team with its initial weights.
        objective: `(config)` -> its objective.
        world: additional arguments of its training worlds.
        make_world: `(config, num_worlds, first_world, **arguments)` -> its training worlds.
        make_algorithm: algorithm factory, `(config, plan)`; RLlib's by default.
    """

    is_shaped: bool = True
    build_policy: Callable[[Any, int], TeamPolicy] = self_play_team
    objective: Callable[[Any], Objective] = build_objective
    world: Mapping[str, Any] = field(default_factory=dict)
    make_world: Callable[..., Any] = training_world
    make_algorithm: Callable[[Any, TrialPlan], Algorithm] | None = None


def make_world_with_partners(
    config: OvercookedConfig,
    num_worlds: int = 1,
    first_world: int = 0,
    partners: Sequence[TeamPolicy] | None = None,
    **arguments: Any,
) -> KitchenWithPartners:
    """Training kitchens with a population of partners, by default loaded from its run."""
    cooks = partners or load_partners(config)
    return KitchenWithPartners(num_worlds, first_world, partners=cooks, **world_arguments(config) | arguments)


def load_partners(config: OvercookedConfig) -> list[TeamPolicy]:
    """The population on the CPU, so that processes without a GPU can use it."""
    return [copy_on(torch.device("cpu"), team) for team in load_population(config)]


def _algorithm_with_partners(config: OvercookedConfig, trial: TrialPlan) -> Algorithm:
    """Load the population once, in the trial's own process; env runners get it with their worlds."""
    make_world = functools.partial(trial.make_world, partners=load_partners(config))
    return make_team_algorithm(dataclasses.replace(trial, make_world=make_world))


def _cole(config: OvercookedConfig, trial: TrialPlan) -> Cole:
    return Cole(config.cole, trial, functools.partial(worlds_of_generation, config), functools.partial(payoff, config))


def worlds_of_generation(
    config: OvercookedConfig, members: Sequence[TeamPolicy], weights: Sequence[float], env_steps: int
) -> Callable[..., Any]:
    """Factory of the kitchens of a generation of COLE."""
    shaping = config.shaping_after(env_steps)
    if not members:
        return functools.partial(make_world, config, **shaping)
    mixture = Mixture(tuple(weights), config.cole.self_share, config.cole.visit_weight)
    arguments = world_arguments(config) | shaping
    travellers = [copy_on(torch.device("cpu"), member) for member in members]
    return functools.partial(KitchenWithMixture, partners=travellers, mixture=mixture, **arguments)


def payoff(config: OvercookedConfig, first: TeamPolicy, second: TeamPolicy) -> float:
    """Mean reward of an episode of one team's chef 0 with another's chef 1, with validation's draws of actions."""
    played = play_pair(config, first, second, config.cole.payoff_episodes, VALIDATION_SEED)
    return float(played["reward"].mean())


METHODS = {
    "selfplay": MethodParts(),
    "selfplay_sparse": MethodParts(is_shaped=False),
    "fcp": MethodParts(make_world=make_world_with_partners, make_algorithm=_algorithm_with_partners),
    COLE: MethodParts(make_algorithm=_cole),
}


def plan(config: OvercookedConfig, method: str, seed: int) -> TrialPlan:
    """One of `METHODS` with one seed; a UserError for another method."""
    if method not in METHODS:
        raise UserError(f"--methods must be some of {', '.join(METHODS)}, not {method!r}")
    return make_plan(config, METHODS[method], seed)


def make_plan(config: OvercookedConfig, row: MethodParts, seed: int) -> TrialPlan:
    """A method with one seed."""
    shaping = config.shaping_after(0) if row.is_shaped else {}
    return TrialPlan(
        make_world=functools.partial(row.make_world, config, **shaping, **row.world),
        build_policy=functools.partial(row.build_policy, config, seed),
        objective=row.objective(config),
        optimiser=optimiser_settings(config.learner, config.learner.learning_rate, config.budget_env_steps),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config),
        # Keep all: partners of three levels are chosen among them.
        kept_checkpoints=math.ceil(config.budget_env_steps / config.checkpoint_every_env_steps) + 1,
        make_algorithm=functools.partial(row.make_algorithm, config) if row.make_algorithm else make_team_algorithm,
    )


SAMPLED = "reward_sampled"
"""Metric: reward of an episode whose actions are sampled."""
_PLANES = "lossless"


def plan_roles(config: OvercookedRolesConfig, row: str, seed: int) -> TrialPlan:
    """One method with one seed."""
    if row not in ALL_Q_METHODS:
        return plan(config, row, seed)
    method = cast(RoleMethod, row.removesuffix(SPARSE))
    learner, workers = config.learner_settings(method), config.worker_settings(method)
    own = MethodParts(
        make_world=make_world,
        is_shaped=False,  # its weight would fall
        world={} if row.endswith(SPARSE) else {"shaping": 1.0},
        build_policy=functools.partial(build_role_team, method=method),
        objective=functools.partial(build_role_objective, method=method),
    )
    return dataclasses.replace(
        make_plan(config, own, seed),
        optimiser=optimiser_settings(learner, learner.learning_rate, config.budget_env_steps),
        workers=workers,
        validate=functools.partial(play_greedy, config, config.valid_episodes, seed=VALIDATION_SEED),
        kept_checkpoints=1,  # each holds the replay
    )


def build_role_team(config: OvercookedRolesConfig, seed: int, *, method: RoleMethod) -> TeamPolicy:
    """The team of a method with its initial weights."""
    world = make_world(config)
    planes = math.prod(world.observation_spec[_PLANES].shape)
    encoder, state = VectorEncoder(_PLANES, planes), FirstAgentState(_PLANES, planes)
    return role_team(config.roles.team, method, encoder, state, world.num_agents, len(ACTIONS), seed)


def build_role_objective(config: OvercookedRolesConfig, *, method: RoleMethod) -> Objective:
    """Objective that a method minimises."""
    learner, workers = config.learner_settings(method), config.worker_settings(method)
    qmix = qmix_objective(learner, learner.gamma, workers.env_steps_of_update)
    return role_objective(config.roles.team, method, qmix)


def play_greedy(
    config: OvercookedRolesConfig, episodes: int, policy: TeamPolicy, seed: int = EVALUATION_SEED
) -> Episodes:
    """Episodes with greedy actions, and each agent's mean role or most probable sub-task; metrics as `play_team`."""
    return play_team(make_world(config, episodes), policy, is_greedy=True, draws_noise=False, seed=seed)


def evaluate_greedy(config: OvercookedRolesConfig, policy: TeamPolicy) -> Tests:
    """Results for the table of a Q-learning method, and of uniform actions.

    A kitchen is deterministic, so all greedy episodes are equal. `reward_sampled` is that of episodes with the last
    epsilon of training, as self-play is tested with sampled actions.
    """
    uniform = uniform_team(policy.num_agents, len(ACTIONS))
    random = play_team(make_world(config, config.test_episodes), uniform)
    sampled = play_team(make_world(config, config.test_episodes), policy, is_greedy=False, draws_noise=False)
    played = play_greedy(config, config.test_episodes, policy) | {SAMPLED: sampled["reward"]}
    random |= {SAMPLED: random["reward"]}
    return {Tested(config.task): played, Tested(config.task, method=RANDOM): random}


def evaluate_sampled(config: OvercookedRolesConfig, policy: TeamPolicy) -> Tests:
    """The same for a method that is tested with sampled actions only."""
    return {test: played | {SAMPLED: played["reward"]} for test, played in evaluate(config, policy).items()}
