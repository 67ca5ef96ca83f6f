"""Configuration of PPO and IMPALA for an experiment's user, and the objective built from it.

Each constant is declared once, beside the objective that reads it (`ppo.py`, `impala.py`, `optimiser.py`), so all
experiments have the same names. An experiment's configuration holds an instance with its own default values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat

from rl_models.algorithms.actor_critic import EntropyKind
from rl_models.algorithms.impala import Impala, ImpalaConfig
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import AnnealedOptimiserConfig
from rl_models.algorithms.ppo import Ppo, PpoConfig
from rl_models.configuration import constants_of
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig(PpoConfig, ImpalaConfig, AnnealedOptimiserConfig):
    """How a team learns by PPO or IMPALA; learning rate and entropy bonus are `LearnerConfig`'s."""

    algorithm: Literal["ppo", "impala"] = "ppo"
    """Algorithm that trains: ppo, or impala, which corrects its advantages by V-trace."""


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(AlgorithmConfig):
    """How all methods of an experiment learn."""

    learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start, above 0."""
    entropy_coef: NonNegativeFloat = 0.01
    """Weight of the entropy bonus at the start, at least 0."""
    final_entropy_coef: NonNegativeFloat | None = None
    """Weight of the entropy bonus to which it falls linearly, at least 0; None keeps the weight as it is."""
    entropy_env_steps: NonNegativeInt = 0
    """Number of env steps in which the entropy bonus falls; 0: `schedule_optimiser_steps`, or else the whole
    budget."""

    def entropy_schedule(self, budget_env_steps: int) -> Schedule:
        """Weight of the entropy bonus in a run with this budget."""
        if self.final_entropy_coef is None:
            return Schedule.constant(self.entropy_coef)
        if self.entropy_env_steps:
            return Schedule.linear(self.entropy_coef, self.final_entropy_coef, self.entropy_env_steps)
        return self.falling(self.entropy_coef, self.final_entropy_coef, budget_env_steps)


def make_objective(
    config: AlgorithmConfig,
    entropy_coef: Schedule,
    extra_losses: tuple[ExtraLoss, ...] = (),
    entropy_kind: EntropyKind = "component",
) -> Objective:
    """Build the objective of the configured algorithm.

    Args:
        config: the constants.
        entropy_coef: weight of the entropy bonus.
        extra_losses: declared additions.
        entropy_kind: of what the bonus is: `component`, component and action together; `marginal`, the agent's action.
    """
    beside: dict[str, Any] = {
        "entropy_coef": entropy_coef,
        "entropy_kind": entropy_kind,
        "extra_losses": extra_losses,
    }
    if config.algorithm == "impala":
        return Impala(**constants_of(config, ImpalaConfig), **beside)
    return Ppo(**constants_of(config, PpoConfig), **beside)
