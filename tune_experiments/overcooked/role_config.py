"""Every setting of a run of role methods in Overcooked: those of self-play, and of Q-learning."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import OptimiserName, QmixLearnerConfig
from rl_models.configuration import UnitInterval, Unread, fields_of_others
from rl_models.networks.role_team_config import RoleTeamConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_ranges, check_value_precision
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked.config import PPO_METHODS, OvercookedConfig

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
        """Check methods and values."""
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
