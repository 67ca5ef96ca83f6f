"""Learning from an expert alone: the learner's half of DAgger (Ross et al., 2011).

The loss is the sum of the extra losses, one of which compares the policy with the expert (`losses/imitation.py`).
Actions and rewards of the rollouts have no effect, so a world may let the expert act in the team's place. Values are
not trained.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rl_models.algorithms.actor_critic import shuffled_minibatches, with_extra_losses
from rl_models.algorithms.replay import Replay
from rl_models.batch import ALONE, WHOLE, Batch, Learners, Share, without_last_observation
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.schedule import Progress


@dataclass(frozen=True, kw_only=True)
class ImitationLearning:
    """The sum of the extra losses is minimised, with epochs and minibatches like PPO's.

    Attributes:
        extra_losses: losses whose sum is minimised.
        num_epochs: number of epochs over each batch.
        num_minibatches: number of optimiser steps in an epoch.
        gradient_accumulation_steps: number of parts of a minibatch whose gradients are summed before a step.
    """

    takes_turns: ClassVar[bool] = True
    needs_values: ClassVar[bool] = False
    target_kl: ClassVar[float] = 0.0
    extra_losses: tuple[ExtraLoss, ...] = ()
    num_epochs: int = 1
    num_minibatches: int = 1
    gradient_accumulation_steps: int = 1

    def new_replay(self) -> None:
        """None: no replay is needed."""

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Drop the observation after the last step, which has no action."""
        return without_last_observation(batch)

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """Whole sequences, shuffled again each epoch."""
        return shuffled_minibatches(batch, seed, learners, self.num_epochs, self.num_minibatches)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a minibatch, or on a part that holds this share of it, and numbers to log."""
        nothing = torch.zeros((), device=batch["reward"].device)
        total, statistics = with_extra_losses(nothing, self.extra_losses, output, batch, progress)
        return share.steps * total, statistics | {"loss/total": total.detach()}

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """No-op."""
