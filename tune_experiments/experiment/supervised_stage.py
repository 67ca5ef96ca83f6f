"""Base of supervised stages: a team, and the `Algorithm` interface around it.

Such a stage replaces RLlib's algorithm in its place of a curriculum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan

__all__ = ["NoTraining", "SupervisedStage"]


class SupervisedStage(ABC):
    """A team that learns from examples; `train` says what one call learns and sets the progress."""

    def __init__(self, plan: TrialPlan) -> None:
        """Build the team; nothing is learned yet."""
        self._plan, self._policy, self._progress = plan, plan.new_policy(), Progress()

    @abstractmethod
    def train(self) -> dict[str, float]:
        """Learn; what it came to."""

    def progress(self) -> Progress:
        """How far it is."""
        return self._progress

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team with its present weights, which are those of the checkpoint that was taken last, if any was."""
        return self._policy.eval()

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """All weights of the team."""
        return {"weights": self.weights()}, self.progress()

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Take the weights."""
        self._policy.load_state_dict({name: torch.as_tensor(value) for name, value in tensors["weights"].items()})
        self._progress = progress

    def close(self) -> None:  # noqa: B027 (nothing by default)
        """Nothing runs anywhere else."""

    def weights(self) -> dict[str, Tensor]:
        """A copy of all weights, on the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self._policy.state_dict().items()}


class NoTraining(SupervisedStage):
    """A stage without examples, for a team that plays as it is."""

    def train(self) -> dict[str, float]:
        """Nothing is learned; the budget counts as spent."""
        self._progress = Progress(env_steps=self._plan.budget_env_steps)
        return {}
