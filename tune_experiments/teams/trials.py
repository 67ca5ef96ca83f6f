"""One training run on any environment, built from settings: worlds, team, loss, evaluation.

`ippo` and `mappo` have one policy network that all agents share and a probability ratio for each agent. `commnet`
averages the agents' states, `tbone` exchanges messages with an LSTM, `sync_M` draws one of M product policies with them
(A Cordial Sync, section 4) with an entropy bonus on its marginals. `endi_dis` is `ippo` with an entity divider (EnDi,
section 4).
"""

import contextlib
import dataclasses
import functools
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from rl_envs import World
from rl_envs.core.spec import RESERVED_KEYS, EntitySpec, NumbersSpec
from rl_envs.wrappers.custom.layout import AGENT_POSITIONS, ENTITIES, ENTITY_POSITIONS
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.algorithms.qmix import qmix_objective
from rl_models.distributions.dependence import measure_dependence
from rl_models.distributions.factored_mixture import ActionParts
from rl_models.losses.cordial import CoordinationLoss, CoordinationSet
from rl_models.losses.division import division_probe
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.networks.entity_divider import MASK
from rl_models.networks.network_needs import fitted, is_recurrent
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.endi_team import DivisionLosses
from rl_models.teams.parts_team import Kind, divided_parts_team, parts_team, qmix_parts_team
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import Episodes, TrialPlan, play_episodes
from tune_experiments.teams.config import BLIND, CORDIAL, DIVIDED_METHOD, LANGUAGE_METHODS, Q_METHODS, Config
from tune_experiments.teams.inspection import probe_environment
from tune_experiments.teams.language import check_lengths, language_policy, text_game
from tune_experiments.teams.observations import check_declaration, example_world, make_parts
from tune_experiments.teams.worlds import make_world, training_world

VALIDATION_SEED, TEST_SEED = 101, 202


def plan(config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
    """One method with one seed; `trial_folder` as for `Experiment.plan`."""
    settings = _learner(config, method)
    return TrialPlan(
        make_world=functools.partial(training_world, config, method),
        build_policy=functools.partial(build_policy, config, method, seed, trial_folder),
        objective=_objective(config, method),
        optimiser=optimiser_settings(settings, settings.learning_rate, config.budget_env_steps),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(play, config, config.valid_episodes, VALIDATION_SEED, method=method),
    )


def build_policy(config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TeamPolicy:
    """The team of one method with its initial weights; UserError if the environment of its trial has changed."""
    if trial_folder is not None:
        check_declaration(config, trial_folder)
    if method in LANGUAGE_METHODS:
        return language_policy(config, method, seed, trial_folder)
    world = example_world(config)
    agents, actions = world.num_agents, action_parts(world)
    if config.network.text_encoder and not isinstance(world, PettingZooWorld) and not hasattr(world, "vocabulary"):
        raise UserError(
            f"--network.text-encoder: {config.env} gives texts as word ids, and no attribute `vocabulary` with "
            "these words: add one, or leave the flag out"
        )
    try:
        network, parts = fitted(config.network, make_parts(world))
    except ValueError as error:
        raise UserError(f"--network {config.network.name} in {config.env}: {error}") from error
    if method == DIVIDED_METHOD:
        if is_recurrent(network):
            raise UserError(
                f"{method} cannot be recurrent: leave it out of --methods, or use another --network than lstm"
            )
        entities, width = _entities(config, world), config.division.goal_features
        return divided_parts_team(network, parts, entities, agents, cast(int, actions), width, seed)
    if method in Q_METHODS:
        width = 0 if method == "vdn" else config.qmix.mixing_hidden_size
        return qmix_parts_team(network, parts, agents, cast(int, actions), width, seed)
    kind, components = _kind(method)
    masks = [key for key in ("legal", "alive") if key in world.observation_spec]
    return parts_team(network, parts, agents, actions, kind, components, masks, seed, is_recurrent(network))


def _entities(config: Config, world: World) -> EntitySpec:
    """Keys of the entities that agents of the method `endi_dis` divide."""
    if world.entity_spec is None:
        raise UserError(
            f"{DIVIDED_METHOD} divides entities among agents, and the observations of {config.env} have none: leave it "
            f"out of --methods, or let them have {ENTITIES} [E, F], {ENTITY_POSITIONS} [E, 2] in finite bounds and "
            f"{AGENT_POSITIONS} [N, 2]"
        )
    if world.num_agents < 2:
        raise UserError(
            f"{DIVIDED_METHOD} divides entities among agents, and {config.env} has one: leave it out of --methods, or "
            "set more agents with --env-arguments"
        )
    return world.entity_spec


def check_method(config: Config, method: str) -> None:
    """Build a method's world and team, before a run starts; UserError if it does not support the environment."""
    _check_actions(config, method)
    if method in LANGUAGE_METHODS:
        with contextlib.closing(make_world(config, method=method)) as world:
            text_game(config, world, method == BLIND)
        check_lengths(config, method)
        return
    if (method in Q_METHODS or method.startswith("sync")) and probe_environment(config).is_zero_sum:
        raise UserError(
            f"{method} learns from the reward of the whole team, which is always 0 in {config.env}: leave it out of "
            "--methods, for example for ippo or mappo"
        )
    if "decides" in example_world(config).observation_spec and (method in Q_METHODS or method.endswith(CORDIAL)):
        raise UserError(
            f"{method} needs agents that all choose an action at every step, and those of {config.env} do not: leave "
            "it out of --methods, for example for sync_4 or mappo"
        )
    _cordial(config, method)
    build_policy(config, method, 0)


def _check_actions(config: Config, method: str) -> None:
    """Check that actions have one part if the method needs discrete actions."""
    spec = example_world(config).action_spec
    chooses_one = method in (*Q_METHODS, *LANGUAGE_METHODS, DIVIDED_METHOD) or method.endswith(CORDIAL)
    if isinstance(spec, dict) and chooses_one:
        parts = ", ".join([*spec][:3]) + ", ..." * (len(spec) > 3)
        raise UserError(
            f"{method} needs a Discrete action space, and the actions of {config.env} have the parts {parts}: leave it "
            "out of --methods, for example for sync_4 or mappo"
        )


def action_parts(world: World) -> int | ActionParts:
    """A world's `action_spec` as an argument of teams."""
    if isinstance(world.action_spec, int):
        return world.action_spec
    sizes = {name: size for name, size in world.action_spec.items() if isinstance(size, int)}
    numbers = [one for one in world.action_spec.values() if isinstance(one, NumbersSpec)]
    return ActionParts(sizes, *(torch.from_numpy(side) for one in numbers for side in (one.low, one.high)))


def random_team(config: Config) -> TeamPolicy:
    """A team that draws legal actions uniformly, and numbers as an untrained policy does."""
    team = build_policy(config, "ippo", 0)
    for weights in team.parameters():
        torch.nn.init.zeros_(weights)
    return team


def play(config: Config, episodes: int, seed: int, policy: TeamPolicy, method: str = "") -> Episodes:
    """One episode of each of some worlds without exploration: metric -> one value per episode.

    `return` is the sum over the agents; also the dependence of agents (`measure_dependence`), and metrics of a division
    if agents divide entities. `method` is the method of the policy.
    """
    generator = torch.Generator().manual_seed(seed)

    def measure(output: TeamOutput, obs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        masks = [obs[key].bool() for key in RESERVED_KEYS if key in obs]
        found = measure_dependence(output.policy, generator, torch.stack(masks).all(0) if masks else None)
        return found | (division_probe(output, obs) if MASK in output.extras else {})

    return play_episodes(make_world(config, episodes, method=method), seed, policy, probe=measure)


def _kind(method: str) -> tuple[Kind, int]:
    """`sync_4_cordial` -> sync with four components."""
    words = method.split("_")
    return cast(Kind, words[0]), int(words[1]) if words[0] == "sync" else 1


def _learner(config: Config, method: str) -> Any:
    """Constants of the method's learning."""
    if method in Q_METHODS:
        return config.qmix
    if method in LANGUAGE_METHODS:
        rate = config.language.learning_rate  # values of waiting agents are not computed
        return dataclasses.replace(config.learner, learning_rate=rate, value_loss_at="decisions")
    return config.learner


def _objective(config: Config, method: str) -> Objective:
    if method in Q_METHODS:
        texts = tuple(example_world(config).text_spec)
        return qmix_objective(config.qmix, config.learner.gamma, config.workers.env_steps_of_update, texts)
    is_sync = method.startswith("sync")
    learner = dataclasses.replace(_learner(config, method), joint_ratio=config.learner.joint_ratio and is_sync)
    division = config.division
    losses = DivisionLosses(regulariser_coef=division.regulariser_coef, modelling_coef=division.modelling_coef)
    return make_objective(
        learner,
        learner.entropy_schedule(config.budget_env_steps),
        losses.extra_losses() if method == DIVIDED_METHOD else _cordial(config, method),
        entropy_kind="marginal" if is_sync else "component",
    )


def _cordial(config: Config, method: str) -> tuple[ExtraLoss, ...]:
    if not method.endswith(CORDIAL):
        return ()
    world = example_world(config)
    sets = _coordination_sets(world)
    if sets is None:
        raise UserError(
            f"{method} needs coordination sets, and {config.env} declares none: give the environment an attribute "
            "coordination_sets, or train sync without _cordial"
        )
    beta = Schedule.linear(config.cordial_coef, config.cordial_coef / 10, config.budget_env_steps)
    return (CoordinationLoss(CoordinationSet.from_matrices(torch.tensor(sets).long()), beta),)


def _coordination_sets(world: World) -> NDArray[np.bool_] | None:
    """Sets of coordinated joint actions, [K, A, ..., A] bool, of a world that has any under `coordination`."""
    shape = (cast(int, world.action_spec),) * world.num_agents
    if "coordination" in world.tables:
        return world.tables["coordination"].reshape(-1, *shape)
    if "coordination" not in world.observation_spec or "coordinated_actions" not in world.tables:
        return None
    listed = world.tables["coordinated_actions"]
    sets = np.zeros((len(listed), *shape), bool)
    for number, joint_actions in enumerate(listed):
        sets[(number, *joint_actions.T)] = True
    return sets
