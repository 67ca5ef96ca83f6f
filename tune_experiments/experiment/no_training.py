"""What stands where an algorithm stands, for a team that plays as it is."""

from __future__ import annotations

from typing import Any

from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan


class NoTraining:
    """The `Algorithm` of a team that does not learn."""

    def __init__(self, plan: TrialPlan) -> None:
        self._plan, self._progress = plan, Progress()
        self._policy = plan.new_policy().eval()

    def train(self) -> dict[str, float]:
        """Nothing is learned; the budget counts as spent."""
        self._progress = Progress(env_steps=self._plan.budget_env_steps)
        return {}

    def progress(self) -> Progress:
        """All or nothing."""
        return self._progress

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team, whose weights never change."""
        return self._policy

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """What little a checkpoint must hold."""
        return {"weights": dict(self.policy().state_dict())}, self._progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Nothing was learned."""
        self._progress = progress

    def close(self) -> None:
        """Nothing runs anywhere else."""
