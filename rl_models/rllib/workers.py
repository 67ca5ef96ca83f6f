"""Training plan and its numbers of processes. This module does not import Ray."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from rl_models.configuration import MAY_CHANGE, Unread
from rl_models.team_world import MakeWorld

if TYPE_CHECKING:
    from rl_models.algorithms.objective import Objective
    from rl_models.algorithms.optimiser import OptimiserSettings
    from rl_models.policy import TeamPolicy


ALONE: dict[str, Any] = {"learners": 0, "aggregators": 0, "gpus_per_learner": 0.0, "gpus_per_runner": 0.0}
"""Fields of `Workers` that have no effect in a single process, with their values there."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Processes and worlds of one trial.

    One update learns from one fragment of each world, which the learners share. IMPALA distributes whole runners'
    fragments, and waits until there is one for each learner.
    """

    runners: NonNegativeInt = field(default=0, metadata=MAY_CHANGE)
    """Number of env runner processes; 0: the trial's own process samples."""
    worlds_per_runner: PositiveInt = field(default=64, metadata=MAY_CHANGE)
    """Number of worlds that one runner steps at once, at least 1."""
    world_groups: PositiveInt = field(default=1, metadata=MAY_CHANGE)
    """Number of groups, at least 1, into which a runner's worlds are split: while the GPU computes the actions of one
    group, the CPU steps the others; 1: all worlds are stepped at once."""
    fragment_length: PositiveInt = 20
    """Number of env steps in a fragment (T), at least 1."""
    learners: NonNegativeInt = field(default=0, metadata=MAY_CHANGE)
    """Number of learner processes; 0: the trial's own process learns. Contrastive losses (the grounding losses and the
    mention contrast) compare the texts of one learner's share only, so several learners make another update than
    one."""
    aggregators: NonNegativeInt = field(default=0, metadata=MAY_CHANGE)
    """Number of processes per learner that join fragments into its batches (IMPALA); 0: the learner joins them
    itself."""
    gpus_per_learner: NonNegativeFloat = field(default=0.0, metadata=MAY_CHANGE)
    """Number of GPUs per learner, also for the trial's own process if it learns, at least 0; 0: what `--device`
    finds."""
    gpus_per_runner: NonNegativeFloat = field(default=0.0, metadata=MAY_CHANGE)
    """Number of GPUs per env runner process, at least 0; 0: the runner acts on the CPU."""

    def unread_by(self, method: str) -> Unread:
        """GPUs of runners that there are not."""
        return {} if self.runners else {"gpus_per_runner": "set {group}runners above 0, or leave it out"}

    @property
    def worlds(self) -> int:
        """Number of worlds that are played at once."""
        return max(self.runners, 1) * self.worlds_per_runner

    @property
    def env_steps_of_update(self) -> int:
        """Env steps that all worlds play in one fragment each; PPO and QMIX learn after so many."""
        return self.worlds * self.fragment_length

    def env_steps_learned_at_once(self, takes_turns: bool) -> int:
        """Env steps that one update learns from.

        PPO takes turns. IMPALA distributes whole runners' fragments, so more learners than runners wait for further
        samples.
        """
        if takes_turns:
            return self.env_steps_of_update
        runners, learners = max(self.runners, 1), max(self.learners, 1)
        samples = learners * math.ceil(runners / learners) if self.aggregators else max(runners, learners)
        return samples * self.worlds_per_runner * self.fragment_length

    def check_learners(self, objective: Objective) -> None:
        """Refuse groups and learners without a world, and a replay too small for a learner's share, by a ValueError."""
        if self.world_groups > self.worlds_per_runner:
            raise ValueError(
                f"--workers.world-groups {self.world_groups} is more than the {self.worlds_per_runner} worlds of a "
                f"runner: lower it, or raise --workers.worlds-per-runner"
            )
        if self.learners > self.worlds:
            raise ValueError(
                f"--workers.learners {self.learners} is more than the {self.worlds} worlds that a trial plays at once, "
                f"so a learner would have none: lower it, or raise --workers.worlds-per-runner"
            )
        replay, share = objective.new_replay(), math.ceil(self.worlds / max(self.learners, 1))
        if replay is not None and replay.capacity < share:
            raise ValueError(
                f"a replay of {replay.capacity} fragments cannot hold the {share} that a learner gets at once: "
                f"raise buffer-size, or lower --workers.worlds-per-runner"
            )

    def in_one_process(self) -> Workers:
        """The same number of worlds in the trial's own process, which also learns."""
        return replace(self, runners=0, worlds_per_runner=self.worlds, **ALONE)

    @property
    def cpus(self) -> int:
        """CPUs that a trial occupies: its own process, and one for each runner, learner and aggregator."""
        return 1 + self.runners + self.learners + max(self.learners, 1) * self.aggregators

    @property
    def gpus(self) -> float:
        """GPUs that a trial occupies."""
        return self.gpus_per_learner * max(self.learners, 1) + self.gpus_per_runner * self.runners


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Plan of training.

    Attributes:
        make_world: takes `(num_worlds, first_world)`, for training.
        build_policy: builds the team with its initial weights.
        objective, optimiser, workers: loss, optimiser settings and numbers of processes.
        seed: seed of worlds and action sampling.
    """

    make_world: MakeWorld
    build_policy: Callable[[], TeamPolicy]
    objective: Objective
    optimiser: OptimiserSettings
    workers: Workers
    seed: int

    def new_policy(self) -> TeamPolicy:
        """The team with its initial weights, where networks of this process run."""
        from rl_models.runtime.device import built_on, chosen_device

        policy = built_on(chosen_device(), self.build_policy)
        policy.precision = self.optimiser.precision
        return policy
