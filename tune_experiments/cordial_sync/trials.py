"""One training run on Gridworld-FurnMove, built from settings: worlds, team, loss, optimiser."""

import dataclasses
import functools
from typing import TypeVar

from rl_envs import World, make
from rl_envs.furnmove.world import FurnMove
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.losses.cordial import CoordinationLoss
from rl_models.networks.network_config import TboneConfig, VisualConfig
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.tbone_team import central_team, tbone_team
from tune_experiments.cordial_sync.config import Config, FamilySettings, Method, parse_method
from tune_experiments.cordial_sync.evaluation import coordination_set, validate, world_arguments
from tune_experiments.experiment.on_device import build_on_device
from tune_experiments.experiment.plan import TrialPlan

Network = TypeVar("Network", bound=TboneConfig | VisualConfig)


def plan(config: Config, name: str, seed: int) -> TrialPlan:
    """One method with one seed."""
    method = parse_method(name)
    return TrialPlan(
        make_world=functools.partial(training_world, config),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=_objective(config, method),
        optimiser=optimiser_settings(config.learner, _settings(config, method).learning_rate, config.budget_env_steps),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config),
    )


def training_world(config: Config, num_worlds: int = 1, first_world: int = 0) -> World:
    """Worlds that draw a training room and a start for every episode."""
    build = functools.partial(
        FurnMove,
        num_worlds,
        first_world,
        rooms=config.train_rooms,
        room_size=config.room_size,
        bootstrap_at_limit=config.bootstrap_at_limit,
        **world_arguments(config),
    )
    return build_on_device(FurnMove, build)


def build_policy(config: Config, method: Method, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    world = _any_world(config)
    sizes = world.num_agents, world.observation_spec[config.observation].shape, int(world.action_spec)  # type: ignore[arg-type]
    last, communicates = _settings(config, method).last_convolution, method.family != "no_communication"
    chosen = config.visual_network if config.observation == "frame" else config.network
    network = adapted(chosen, last, communicates)
    if method.family == "central":
        return central_team(network, *sizes, seed)  # type: ignore[arg-type]
    return tbone_team(network, *sizes, method.components, seed)  # type: ignore[arg-type]


def adapted(network: Network, last_convolution: int, communicates: bool) -> Network:
    """The network of a method: its last convolution (0: no change), and whether agents exchange messages."""
    channels = (*network.channels[:-1], last_convolution) if last_convolution else network.channels
    return dataclasses.replace(network, channels=channels, communicates=communicates)  # type: ignore[arg-type]


def _settings(config: Config, method: Method) -> FamilySettings:
    settings: FamilySettings = getattr(config, method.family)
    return settings


def _objective(config: Config, method: Method) -> Objective:
    learner = config.learner
    if method.family == "central":
        # A central team has one joint ratio: the per-agent form would repeat the surrogate N times. Its one value is
        # split in N equal shares, whose squared error has 1/N of the gradient, which this factor restores.
        learner = dataclasses.replace(learner, joint_ratio=True, value_coef=learner.value_coef * config.num_agents)
    entropy_coef = 0.0 if method.has_cordial else _settings(config, method).entropy_coef
    coordination = coordination_set(_any_world(config), config.cordial.form)
    loss = CoordinationLoss(coordination, _beta(config, method))
    return make_objective(learner, Schedule.constant(entropy_coef), (loss,))


def _any_world(config: Config) -> World:
    """A world with the same agents in any rooms, since training rooms may be missing when a team is loaded."""
    return make("furnmove-v0", rooms="valid", room_size="laptop", **world_arguments(config))


def _beta(config: Config, method: Method) -> Schedule:
    """CORDIAL's weight; without CORDIAL the loss at weight 0 only logs."""
    cordial = config.cordial
    if not method.has_cordial:
        return Schedule.constant(0.0)
    if cordial.decline_optimiser_steps:
        return Schedule.linear(cordial.start, cordial.floor, cordial.decline_optimiser_steps, unit="optimiser_steps")
    if cordial.decline_episodes:
        return Schedule.linear(cordial.start, cordial.floor, cordial.decline_episodes, unit="episodes")
    return Schedule.linear(cordial.start, cordial.floor, cordial.decline * config.budget_env_steps)
