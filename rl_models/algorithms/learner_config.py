"""Configurations of the algorithms, for an experiment's user.

Each constant is declared once, so all experiments have the same names; they are close to Stable-Baselines3's. An
experiment's configuration holds an instance with its own default values. Importing this file loads no torch.
"""

import importlib
from dataclasses import dataclass, field, fields
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.configuration import MAY_CHANGE, Precision, UnitInterval, Unread
from rl_models.schedule import Schedule

EntropyKind = Literal["component", "marginal"]
ValueLossAt = Literal["all", "decisions"]


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig:
    """Constants of PPO and IMPALA: flags of an experiment, and fields of the objective that is made of them."""

    joint_ratio: bool = True
    """Whether the loss has one probability ratio for the whole team; if not, each agent has a ratio of its own."""
    gamma: UnitInterval = 0.99
    """Discount of an env step, from 0 to 1."""
    value_coef: NonNegativeFloat = 0.25
    """Weight of the squared value error in the loss, at least 0."""
    value_loss_at: ValueLossAt = "all"
    """Steps at which values are learned: all, or decisions, those at which an agent decides or a fragment begins."""
    num_epochs: PositiveInt = 1
    """Number of epochs over each batch, at least 1."""
    num_minibatches: PositiveInt = 1
    """Number of minibatches of whole fragments, and so of optimiser steps, in an epoch; at most one for each
    environment."""
    gradient_accumulation_steps: PositiveInt = field(default=1, metadata=MAY_CHANGE)
    """Number of parts of a minibatch, at least 1, whose gradients are summed before a step; memory holds one part at a
    time."""


@dataclass(frozen=True, kw_only=True)
class PpoConfig(ActorCriticConfig):
    """Constants of PPO."""

    gae_lambda: UnitInterval = 0.95
    """Lambda of generalised advantage estimation, from 0 to 1 (PPO)."""
    clip_range: PositiveFloat = 0.2
    """Distance from 1 at which a probability ratio is clipped, above 0 (PPO)."""
    num_epochs: PositiveInt = 2
    """Number of epochs over each batch, at least 1."""
    num_minibatches: PositiveInt = 4
    """Number of minibatches of whole fragments, and so of optimiser steps, in an epoch; at most one for each
    environment."""
    decision_minibatches: bool = False
    """Whether minibatches hold single steps, those at which an agent decides or a value is learned, instead of whole
    fragments (PPO)."""
    target_kl: NonNegativeFloat = 0.0
    """Mean approximate KL divergence at which an update ends, at least 0; 0 sets no limit (PPO)."""
    normalize_advantages: bool = True
    """Whether advantages are standardised over the batch (PPO)."""
    value_clip_range: NonNegativeFloat = 0.0
    """Distance from the old value at which the value error is clipped, at least 0; 0 sets no limit (PPO)."""


LossReduction = Literal["mean", "sum_steps", "sum"]


@dataclass(frozen=True, kw_only=True)
class ImpalaConfig(ActorCriticConfig):
    """Constants of IMPALA."""

    loss_reduction: LossReduction = "mean"
    """How losses are reduced (IMPALA): mean; sum_steps, summed over the steps of a fragment; or sum, summed over worlds
    too. Extra losses are reduced likewise, unless they say that they are means."""


OptimiserName = Literal["adam", "rmsprop"]


GradClipBy = Literal["norm", "largest"]


@dataclass(frozen=True, kw_only=True)
class OptimiserConfig:
    """Constants of the optimiser, all but the learning rate."""

    optimiser: OptimiserName = "adam"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99."""
    optimiser_epsilon: PositiveFloat = 1e-5
    """Constant above 0 that the optimiser adds to its denominators."""
    amsgrad: bool = False
    """Whether Adam divides by the largest second moment so far (AMSGrad)."""
    max_grad_norm: NonNegativeFloat = 1.0
    """Maximum global gradient norm, at least 0; 0 clips no gradient."""
    grad_clip_by: GradClipBy = "norm"
    """Measure that max_grad_norm limits: norm, the Euclidean norm, or largest, the largest absolute entry."""
    precision: Precision = "float32"
    """Data type (dtype) of the network's matrix products: float32, or bfloat16, which a GPU computes faster; weights,
    heads and losses are float32 with either."""

    def unread_by(self, method: str) -> Unread:
        """Constants of another optimiser, and of clipping without a limit."""
        found = {} if self.optimiser == "adam" else {"amsgrad": "choose {group}optimiser adam, or leave it out"}
        return found if self.max_grad_norm else found | {"grad_clip_by": "set {group}max-grad-norm above 0"}


@dataclass(frozen=True, kw_only=True)
class AnnealedOptimiserConfig(OptimiserConfig):
    """The optimiser that an experiment's user chooses, whose learning rate falls over the budget."""

    final_learning_rate_share: UnitInterval = 0.1
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget."""
    schedule_optimiser_steps: NonNegativeInt = 0
    """Number of optimiser steps, at least 0, in which the learning rate, and an entropy bonus that falls, reach their
    last values; 0: they fall with env steps until the end of the budget."""

    def falling(self, start: float, end: float, env_steps: int) -> Schedule:
        """A value that goes linearly from `start` to `end` in `schedule_optimiser_steps`, or in so many env steps."""
        if self.schedule_optimiser_steps:
            return Schedule.linear(start, end, self.schedule_optimiser_steps, unit="optimiser_steps")
        return Schedule.linear(start, end, env_steps)


@dataclass(frozen=True, kw_only=True)
class QmixConfig:
    """Constants of QMIX, by default the paper's for StarCraft, with fragments where it has episodes."""

    buffer_size: PositiveInt = 5000
    """Number of fragments of one world that the replay keeps; QMIX's paper keeps 5000 episodes."""
    batch_size: PositiveInt = 32
    """Number of fragments in a minibatch; QMIX's paper has 32 episodes."""
    update_target_every_updates: PositiveInt = 200
    """Number of optimiser steps between updates of the targets; QMIX's paper has 200 episodes."""
    td_lambda: UnitInterval = 0.0
    """Lambda of the lambda-returns in the targets, from 0 (one-step targets, as in QMIX's paper) to 1."""


@dataclass(frozen=True, kw_only=True)
class QmixLearnerConfig(QmixConfig, AnnealedOptimiserConfig):
    """Settings of QMIX, by default with the paper's constants for StarCraft and the gradient norm of its release."""

    optimiser: OptimiserName = "rmsprop"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99; QMIX's paper has rmsprop."""
    max_grad_norm: NonNegativeFloat = 10.0
    """Maximum global gradient norm, at least 0; 0 clips no gradient."""
    final_learning_rate_share: UnitInterval = 1.0
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget."""
    learning_rate: PositiveFloat = 5e-4
    """Learning rate at the start, above 0; QMIX's paper has 0.0005 throughout."""
    precision: Precision = "float32"
    """Data type (dtype) of the network's matrix products: float32; bfloat16 is refused here, because the last
    products are the action values."""
    exploration_env_steps: PositiveInt = 50_000
    """Number of env steps in which the probability of a random action falls from 1; QMIX's paper has 50,000."""
    exploration_final_epsilon: UnitInterval = 0.05
    """Probability of a random action at the end of exploration, from 0 to 1; QMIX's paper has 0.05."""
    train_every_env_steps: PositiveInt = 20
    """Number of env steps that are played for each minibatch; QMIX's paper plays an episode. Each update has a whole
    number of minibatches, at least one."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig(PpoConfig, ImpalaConfig, AnnealedOptimiserConfig):
    """Settings of PPO or IMPALA; learning rate and entropy bonus are `LearnerConfig`'s."""

    algorithm: str = "ppo"
    """Algorithm that trains: ppo; impala, which corrects its advantages by V-trace; or package.module:Class, your own
    subclass of Ppo or Impala."""

    def unread_by(self, method: str) -> Unread:
        """The same, and constants of the other algorithm."""
        of_ppo, of_impala = ({one.name for one in fields(kind)} for kind in (PpoConfig, ImpalaConfig))
        other, without = {"ppo": ("impala", of_impala - of_ppo), "impala": ("ppo", of_ppo - of_impala)}.get(
            self.algorithm, ("", set())
        )
        cure = f"choose {{group}}algorithm {other}, or leave it out"
        if not other:
            module, _, name = self.algorithm.partition(":")
            try:
                own = {one.name for one in fields(getattr(importlib.import_module(module), name))}
            except Exception:  # `algorithm_class` says why
                own = of_ppo | of_impala
            without, cure = (of_ppo ^ of_impala) - own, f"leave it out, or give {self.algorithm} a field of this name"
        return super().unread_by(method) | dict.fromkeys(sorted(without), cure)


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(AlgorithmConfig):
    """Learner settings of all methods of an experiment."""

    learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start, above 0."""
    entropy_coef: NonNegativeFloat = 0.01
    """Weight of the entropy bonus at the start, at least 0."""
    final_entropy_coef: NonNegativeFloat | None = None
    """Weight of the entropy bonus to which it falls linearly, at least 0; None keeps the weight constant."""
    entropy_env_steps: NonNegativeInt = 0
    """Number of env steps in which the entropy bonus falls; 0: `schedule_optimiser_steps`, or else the whole budget."""

    def unread_by(self, method: str) -> Unread:
        """The same, and the length of a decline that there is not."""
        found = super().unread_by(method)
        if self.final_entropy_coef is None:
            found["entropy_env_steps"] = "set {group}final-entropy-coef, or leave it out"
        return found

    def entropy_schedule(self, budget_env_steps: int) -> Schedule:
        """Weight of the entropy bonus in a run with this budget."""
        if self.final_entropy_coef is None:
            return Schedule.constant(self.entropy_coef)
        if self.entropy_env_steps:
            return Schedule.linear(self.entropy_coef, self.final_entropy_coef, self.entropy_env_steps)
        return self.falling(self.entropy_coef, self.final_entropy_coef, budget_env_steps)
