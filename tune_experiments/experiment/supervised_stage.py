"""Base of supervised stages: a policy with the `Algorithm` interface, instead of RLlib's algorithm."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan


class SupervisedStage(ABC):
    """A policy trained on examples, as an `Algorithm`; `train` is abstract and sets the progress."""

    def __init__(self, plan: TrialPlan) -> None:
        """Build the policy."""
        self._plan, self._policy, self._progress = plan, plan.new_policy(), Progress()

    @abstractmethod
    def train(self) -> dict[str, float]:
        """Train for one iteration; metrics."""

    def progress(self) -> Progress:
        """Progress of the stage."""
        return self._progress

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The policy with its current weights."""
        return self._policy.eval()

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """All weights [...] of the policy, as the group `weights`, and the progress."""
        return {"weights": self.weights()}, self.progress()

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Load weights [...] of `checkpoint` and progress."""
        self._policy.load_state_dict(tensors["weights"])
        self._progress = progress

    def close(self) -> None:  # noqa: B027 (nothing by default)
        """No-op: there are no processes."""

    def weights(self) -> dict[str, Tensor]:
        """A copy of all weights, name -> [...], on the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self._policy.state_dict().items()}


class NoTraining(SupervisedStage):
    """A stage without training, for a frozen policy."""

    def train(self) -> dict[str, float]:
        """Return no metrics; the whole budget counts as used."""
        self._progress = Progress(env_steps=self._plan.budget_env_steps)
        return {}
