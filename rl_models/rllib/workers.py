"""How the work is spread over processes. Apart from the rest of `rllib/` so that reading it does not import Ray."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Processes and worlds of one trial.

    The total number of worlds is `max(runners, 1) * worlds_per_runner`; one update learns from one fragment of each.
    """

    runners: NonNegativeInt = 0
    """Env runner processes; 0: the trial's own process samples."""
    worlds_per_runner: PositiveInt = 64
    """Worlds that one runner steps at once."""
    fragment_length: PositiveInt = 20
    """Env steps of a fragment, T."""
    learners: NonNegativeInt = 0
    """Learner processes; 0: the trial's own process learns."""
    aggregators: NonNegativeInt = field(default=0, metadata={"came_later": True})
    """IMPALA: processes of each learner that join fragments into its batches; 0: it does so itself."""
    gpus_per_learner: NonNegativeFloat = 0.0
    """GPUs of a learner, also of the trial's own process where that learns."""

    @property
    def cpus(self) -> int:
        """CPUs that a trial occupies: its own process, and one for each runner, learner and aggregator."""
        return 1 + self.runners + self.learners + max(self.learners, 1) * self.aggregators

    @property
    def gpus(self) -> float:
        """GPUs that a trial occupies."""
        return self.gpus_per_learner * max(self.learners, 1)
