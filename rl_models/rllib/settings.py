"""What is trained, and on how many processes. Apart from the rest of `rllib/`: to read it imports no Ray."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.policy import TeamPolicy


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Processes and worlds of one trial.

    The total number of worlds is `max(runners, 1) * worlds_per_runner`; one update learns from one fragment of each.
    """

    runners: int = 0
    """Env runner processes; 0: the trial's own process samples."""
    worlds_per_runner: int = 64
    """Worlds that one runner steps at once."""
    fragment_length: int = 20
    """Env steps of a fragment, T."""
    learners: int = 0
    """Learner processes; 0: the trial's own process learns."""
    aggregators: int = field(default=0, metadata={"came_later": True})
    """IMPALA: processes of each learner that join fragments into its batches; 0: it does so itself."""
    gpus_per_learner: float = 0.0
    """GPUs of a learner, also of the trial's own process where that learns."""

    @property
    def cpus(self) -> int:
        """CPUs that a trial occupies: its own process, and one for each runner, learner and aggregator."""
        return 1 + self.runners + self.learners + max(self.learners, 1) * self.aggregators

    @property
    def gpus(self) -> float:
        """GPUs that a trial occupies."""
        return self.gpus_per_learner * max(self.learners, 1)


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """What an algorithm needs to train a team.

    Attributes:
        make_world: `(num_worlds, first_world) -> World`, for training.
        build_policy: the team with its initial weights.
        objective, optimiser, workers: how it learns, and on how many processes.
        seed: of worlds and action sampling.
    """

    make_world: Callable[..., Any]
    build_policy: Callable[[], TeamPolicy]
    objective: Objective
    optimiser: OptimiserSettings
    workers: Workers
    seed: int
