"""Every setting of a run in Overcooked, with the laptop's values as defaults.

Constants of the published self-play agents are the preset `paper`. `trials.py` builds a trial from it.
"""

import dataclasses
import math
import os
from dataclasses import dataclass, field
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs import make
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import MAX_EPISODE_STEPS, Overcooked
from rl_models.algorithms.learner_config import LearnerConfig, OptimiserName, QmixLearnerConfig
from rl_models.configuration import UnitInterval, Unread, fields_of_others
from rl_models.networks.network_config import GridCnnConfig
from rl_models.networks.role_team_config import RoleTeamConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_ranges, check_value_precision
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig
from tune_experiments.overcooked.cole_solver import MAX_MEMBERS

COLE = "cole"
PPO_METHODS = ("selfplay", "selfplay_sparse", "fcp", COLE)
"""Methods of `trials.METHODS`."""


@dataclass(frozen=True)
class ColeSettings:
    """How method `cole` grows its population (COLE; Li et al., ICML 2023)."""

    generations: PositiveInt = 12
    """Number of generations that the budget is divided into; the learner may join the population after each."""
    initial_generations: PositiveInt = 2
    """Number of first generations after which the learner always joins the population."""
    population_size: PositiveInt = 5
    """Number of members, at most 10, that the population keeps; SAMA has five, and the oldest leaves."""
    self_share: UnitInterval = 0.25
    """Share of episodes, from 0 to 1, in which the learner cooks with itself; the release has 1 of 4."""
    visit_weight: NonNegativeFloat = 1.0
    """Weight of the bonus for rarely met partners, at least 0; the release has 1."""
    payoff_episodes: PositiveInt = 10
    """Number of episodes, not counted as training, for each entry of the payoffs; the release has 3."""


@dataclass(frozen=True)
class ShapingSettings:
    """Weight of the shaped points in the rewards, in methods with shaping: 1, falling linearly to 0."""

    share: PositiveFloat = 0.6
    """Share of the budget, above 0, after which the shaped points have weight 0."""
    env_steps: NonNegativeInt = 0
    """Number of env steps of the whole run after which the shaped points have weight 0; 0: use the share."""


def learner_config(**changes: Any) -> LearnerConfig:
    """The learner of all methods; each chef has its own ratio and advantage, as published."""
    laptop = LearnerConfig(
        joint_ratio=False,
        gamma=0.98,
        gae_lambda=0.9,
        num_epochs=4,
        value_coef=0.05,
        entropy_coef=0.05,
        final_entropy_coef=0.01,
        optimiser_epsilon=1e-8,
    )
    return dataclasses.replace(laptop, **changes)


@dataclass(frozen=True, kw_only=True)
class OvercookedConfig(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=32, fragment_length=50),
    budget_env_steps=600_000,
    validate_every_env_steps=60_000,
    valid_episodes=32,
    checkpoint_every_env_steps=60_000,
):
    """One run in one kitchen."""

    methods: tuple[str, ...] = ("selfplay", "selfplay_sparse")
    """Methods to train: selfplay, selfplay_sparse, fcp, cole."""
    task: str = "cramped_room"
    """Name of the kitchen: cramped_room, asymmetric_advantages, coordination_ring, forced_coordination or
    counter_circuit_o_1order."""
    population: str = ""
    """Run folder of this experiment; the teams of its method `selfplay` are the partners of method `fcp`."""
    network: GridCnnConfig = field(
        default_factory=lambda: GridCnnConfig(channels=(16, 16, 16), first_kernel=3, hidden_sizes=(64, 64))
    )
    """Widths of the chefs' network."""
    shaping: ShapingSettings = ShapingSettings()
    """Weight of the shaped points in the rewards, in methods with shaping."""
    cole: ColeSettings = ColeSettings()
    """How method cole grows its population."""
    learner: LearnerConfig = field(default_factory=learner_config)
    """Learner of all methods, each chef with its own ratio and advantage."""
    max_episode_steps: PositiveInt = MAX_EPISODE_STEPS
    """Number of env steps of an episode, in training and in tests."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task not in LAYOUTS:
            raise UserError(f"--task must be one of {', '.join(LAYOUTS)}, not {self.task!r}")
        if self.population:  # trials run, continue and are evaluated in other folders
            object.__setattr__(self, "population", os.path.abspath(os.path.expanduser(self.population)))
        check_widths(self.network)
        if self.cole.population_size > MAX_MEMBERS:
            raise UserError(
                f"--cole.population-size must be at most {MAX_MEMBERS}, not {self.cole.population_size}: the solver "
                f"uses every coalition of members"
            )

    def unread_by(self, method: str) -> Unread:
        """Settings of other methods."""
        shaped = ("selfplay", "fcp", COLE)
        found = fields_of_others(method, {"cole": (COLE,), "population": ("fcp",), "shaping": shaped})
        return found | ({"shaping.share": "set --shaping.env-steps to 0"} if self.shaping.env_steps else {})

    @property
    def shaping_env_steps(self) -> float:
        """Env steps of the whole run until the shaped points have weight 0."""
        return self.shaping.env_steps or self.shaping.share * self.budget_env_steps

    def shaping_after(self, env_steps: int) -> dict[str, Any]:
        """Arguments of worlds whose shaping weight continues to fall after these env steps of the run."""
        left = max(0.0, self.shaping_env_steps - env_steps)
        return {
            "shaping": left / self.shaping_env_steps,
            "shaping_steps": max(1, math.ceil(left / self.workers.worlds)),
        }


def check_widths(network: GridCnnConfig) -> None:
    """Check that there are layers, widths of at least 1 and an odd kernel, else raise UserError."""
    for name in ("channels", "hidden_sizes"):
        widths = getattr(network, name)
        if not widths or min(widths) < 1:
            raise UserError(
                f"--network.{name.replace('_', '-')} must be one or more widths of at least 1, not {widths}"
            )
    if network.first_kernel < 1 or network.first_kernel % 2 == 0:
        raise UserError(f"--network.first-kernel must be an odd number, not {network.first_kernel}")


def make_world(config: OvercookedConfig, num_worlds: int = 1, first_world: int = 0, **changes: Any) -> Overcooked:
    """Kitchens of a run, without shaping unless `changes`, further arguments of the world, say so."""
    world = make("overcooked-v0", num_worlds, first_world=first_world, **world_arguments(config) | changes)
    assert isinstance(world, Overcooked)
    return world


def world_arguments(config: OvercookedConfig) -> dict[str, Any]:
    """Arguments that all kitchens of a run share."""
    return {"layout": config.task, "max_episode_steps": config.max_episode_steps}


Q_METHODS = ("qmix", "roma", "ldsa", "maser")
SPARSE = "_sparse"
ALL_Q_METHODS = (*Q_METHODS, *(f"{method}{SPARSE}" for method in Q_METHODS))


@dataclass(frozen=True, kw_only=True)
class RoleSettings(QmixLearnerConfig):
    """How the methods of Q-learning learn; tuned by validation of QMIX in cramped_room."""

    worlds_per_runner: NonNegativeInt = 8
    """Number of worlds that one runner steps at once in these methods; 0: the value of `--workers.worlds-per-runner`.
    The releases have 1 or 8."""
    gamma: UnitInterval = 0.99
    """Discount of an env step, from 0 to 1; the releases have 0.99."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start, above 0; the releases have 0.0005 throughout."""
    final_learning_rate_share: UnitInterval = 0.1
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget; the releases
    have 1."""
    buffer_size: PositiveInt = 2000
    """Number of fragments of one world that the replay keeps; the releases keep 5000 episodes."""
    batch_size: PositiveInt = 16
    """Number of fragments in a minibatch; the releases have 32 episodes."""
    train_every_env_steps: PositiveInt = 50
    """Number of env steps that are played for each minibatch; the releases play one episode or eight."""
    update_target_every_updates: PositiveInt = 20
    """Number of optimiser steps between updates of the targets; the releases have 200 episodes."""
    td_lambda: UnitInterval = 0.8
    """Lambda of the lambda-returns in the targets, from 0 to 1; the releases have one-step targets, 0."""
    optimiser: OptimiserName = "adam"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99; the releases have rmsprop."""
    exploration_env_steps: PositiveInt = 60_000
    """Number of env steps in which the probability of a random action falls from 1; the releases have 50,000."""
    whole_episodes: bool = True
    """Whether MASER learns from whole episodes, with the same number of env steps in a minibatch; if not, it learns
    from fragments."""
    team: RoleTeamConfig = field(default_factory=RoleTeamConfig)
    """Widths of the networks, and constants of each method."""


@dataclass(frozen=True, kw_only=True)
class OvercookedRolesConfig(
    OvercookedConfig,
    budget_env_steps=200_000,
    validate_every_env_steps=20_000,
    checkpoint_every_env_steps=50_000,
):
    """One run of role methods in one kitchen."""

    methods: tuple[str, ...] = (*ALL_Q_METHODS, "selfplay")
    """Methods to train: qmix, roma, ldsa and maser, the same with _sparse, which are
    rewarded only for served soups, and selfplay, selfplay_sparse, fcp and cole."""
    roles: RoleSettings = field(default_factory=RoleSettings)
    """How the methods of Q-learning learn, and their networks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := [one for one in self.methods if one not in (*ALL_Q_METHODS, *PPO_METHODS)]:
            raise UserError(
                f"--methods must be some of {', '.join((*ALL_Q_METHODS, *PPO_METHODS))}, not {unknown[0]!r}"
            )
        check_ranges(self.roles, "roles.")
        check_value_precision(self, "roles.precision")

    def unread_by(self, method: str) -> Unread:
        """The same, and settings of other methods of Q-learning, or of PPO."""
        found = super().unread_by(method)
        if method not in ALL_Q_METHODS:
            return found | {"roles": "train a method of Q-learning, such as qmix, or leave it out"}
        found |= {"learner": "give flags of the group --roles", "network": "give flags of the group --roles.team"}
        if self.roles.worlds_per_runner:
            found["workers.worlds_per_runner"] = "give --roles.worlds-per-runner"
        readers = {
            **dict.fromkeys(("roles.team.roma", "roles.team.roma_losses"), ("roma",)),
            **dict.fromkeys(("roles.team.ldsa", "roles.team.ldsa_losses"), ("ldsa",)),
            "roles.team.ldsa_hypernetwork_hidden_size": ("ldsa",),
            **dict.fromkeys(("roles.team.maser", "roles.whole_episodes"), ("maser",)),
        }
        return found | fields_of_others(method.removesuffix(SPARSE), readers)

    def worker_settings(self, method: str) -> Workers:
        """Worlds and fragments of a Q-learning method: MASER needs whole episodes."""
        is_whole = method == "maser" and self.roles.whole_episodes
        length = self.max_episode_steps if is_whole else self.workers.fragment_length
        worlds = self.roles.worlds_per_runner or self.workers.worlds_per_runner
        return dataclasses.replace(self.workers, worlds_per_runner=worlds, fragment_length=length)

    def learner_settings(self, method: str) -> RoleSettings:
        """Learner of a Q-learning method; longer fragments are fewer in a minibatch."""
        workers = self.worker_settings(method)
        ratio = self.workers.fragment_length / workers.fragment_length
        return dataclasses.replace(
            self.roles,
            batch_size=max(1, round(self.roles.batch_size * ratio)),
            buffer_size=max(workers.worlds, round(self.roles.buffer_size * ratio)),
        )
