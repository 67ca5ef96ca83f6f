"""Configuration of PPO and IMPALA, the same names in all experiments, and the objective made of it.

An experiment's configuration holds an instance with its own default values. Names are close to Stable-Baselines3's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.actor_critic import EntropyKind, Regressed
from rl_models.algorithms.impala import Impala, LossReduction
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserConfig, UnitInterval
from rl_models.algorithms.ppo import Ppo
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig(OptimiserConfig):
    """How a team learns by PPO or IMPALA; learning rate and entropy bonus are `LearnerConfig`'s."""

    algorithm: Literal["ppo", "impala"] = "ppo"
    """Algorithm that trains: ppo, or impala, which corrects its advantages by V-trace."""
    is_joint: bool = True
    """Whether one ratio is taken of the team's joint probabilities, or one of each agent's own probability."""
    gamma: UnitInterval = 0.99
    """Discount of an env step, from 0 to 1."""
    gae_lambda: UnitInterval = 0.95
    """Lambda of generalised advantage estimation, from 0 to 1 (PPO)."""
    clip_range: PositiveFloat = 0.2
    """How far a probability ratio may move from 1 before it is clipped, above 0 (PPO)."""
    num_epochs: PositiveInt = 2
    """Number of passes over each batch (PPO)."""
    num_minibatches: PositiveInt = 4
    """Number of minibatches, and so of optimiser steps, in a pass (PPO)."""
    gradient_accumulation_steps: PositiveInt = 1
    """Number of parts of a minibatch whose gradients are summed before a step; memory holds one part at a time."""
    by_decisions: bool = False
    """Whether minibatches are of steps at which an agent decides, instead of whole fragments (PPO)."""
    target_kl: NonNegativeFloat = 0.0
    """Mean approximate KL divergence at which an update ends, at least 0; 0 sets no limit (PPO)."""
    normalize_advantages: bool = True
    """Whether advantages are standardised over the batch (PPO)."""
    value_coef: NonNegativeFloat = 0.25
    """Weight of the squared value error in the loss, at least 0."""
    value_clip_range: NonNegativeFloat = 0.0
    """How far a value may move in an update before its error stops falling, at least 0; 0 sets no limit (PPO)."""
    regressed: Regressed = "all"
    """Steps at which values are learned: all, or decisions, those at which an agent decides or a fragment begins."""
    loss_reduction: LossReduction = "mean"
    """How losses are reduced (IMPALA): mean; sum_steps, over the steps of a fragment; or sum, over worlds too."""


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(ActorCriticConfig):
    """How all methods of an experiment learn."""

    learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start, above 0."""
    entropy_coef: NonNegativeFloat = 0.01
    """Weight of the entropy bonus at the start, at least 0."""
    final_entropy_coef: NonNegativeFloat | None = None
    """Weight of the entropy bonus to which it falls linearly, at least 0; None keeps the weight as it is."""
    entropy_env_steps: NonNegativeInt = 0
    """Number of env steps in which the entropy bonus falls; 0 takes the whole budget."""

    def entropy_schedule(self, budget_env_steps: int) -> Schedule:
        """Weight of the entropy bonus in a run with this budget."""
        if self.final_entropy_coef is None:
            return Schedule.constant(self.entropy_coef)
        until = self.entropy_env_steps or budget_env_steps
        return Schedule.linear(self.entropy_coef, self.final_entropy_coef, until)


def make_objective(
    config: ActorCriticConfig,
    entropy_coef: Schedule,
    extra_losses: tuple[ExtraLoss, ...] = (),
    entropy_kind: EntropyKind = "component",
) -> Objective:
    """What the configured algorithm minimises.

    Args:
        config: the constants.
        entropy_coef: weight of the entropy bonus.
        extra_losses: declared additions.
        entropy_kind: of what the bonus is: `component`, component and action together; `marginal`, the agent's action.
    """
    shared: dict[str, Any] = {
        "gamma": config.gamma,
        "is_joint": config.is_joint,
        "value_coef": config.value_coef,
        "regressed": config.regressed,
        "gradient_accumulation_steps": config.gradient_accumulation_steps,
        "entropy_coef": entropy_coef,
        "extra_losses": extra_losses,
        "entropy_kind": entropy_kind,
    }
    if config.algorithm == "impala":
        return Impala(**shared, loss_reduction=config.loss_reduction)
    return Ppo(
        **shared,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        num_epochs=config.num_epochs,
        num_minibatches=config.num_minibatches,
        by_decisions=config.by_decisions,
        target_kl=config.target_kl,
        normalize_advantages=config.normalize_advantages,
        value_clip_range=config.value_clip_range,
    )
