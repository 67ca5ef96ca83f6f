"""Proximal policy optimisation of a team (Schulman et al., 2017), with GAE from the values recorded while acting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rl_models.algorithms.actor_critic import ActorCritic
from rl_models.algorithms.learner_config import PpoConfig
from rl_models.algorithms.objective import APPROXIMATE_KL, CLIP_FRACTION, KL_ENTRIES, RATIO_ERROR
from rl_models.algorithms.replay import Replay
from rl_models.batch import ALONE, WHOLE, Batch, Learners, Share, decision_steps, without_last_observation
from rl_models.losses import policy_gradient as pg
from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress


@dataclass(frozen=True, kw_only=True)
class Ppo(PpoConfig, ActorCritic):
    """Proximal policy optimisation with GAE from the values recorded while acting.

    A minibatch whose mean approximate KL exceeds `target_kl` is not stepped on and ends the update. With
    `decision_minibatches` steps are shuffled over worlds and time.
    """

    takes_turns: ClassVar[bool] = True
    needs_values: ClassVar[bool] = True

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Add `advantages` [B, T, 1 or N] and `value_targets` [B, T, N], once for all epochs.

        The observation after the last step has done its work (its value was recorded) and is dropped. Advantages are
        standardised by all learners together, so that two of them make the update that one would.
        """
        batch = super().prepare(batch)
        steps, values = self._steps(batch, batch["values"], batch["last_values"])
        advantages = pg.gae(steps, values, self.gae_lambda)
        joint = self._advantages(advantages)
        if self.normalize_advantages:
            joint = pg.standardise(joint, self._mask(batch), learners.sum)
        prepared = batch | {"advantages": joint, "value_targets": advantages + values}
        return without_last_observation(prepared)

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """Whole sequences, or with `decision_minibatches` single steps, shuffled anew each epoch."""
        samples = decision_steps(batch) if self.decision_minibatches else batch
        return super().minibatches(samples, seed, replay, learners)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a prepared batch, or on a part that holds this share of it, and numbers to log."""
        log_ratio = self._log_ratio(self._log_prob(output, batch), batch)
        surrogate = pg.ppo_surrogate(log_ratio, batch["advantages"], self.clip_range, self._mask(batch))
        value_loss = self._value_loss(output.values, batch)
        loss, statistics = self._complete(output, batch, progress, surrogate, value_loss, share)
        ratio, mask = log_ratio.detach().exp(), self._mask(batch)
        statistics[APPROXIMATE_KL] = pg.approximate_kl(log_ratio.detach(), mask)
        statistics[KL_ENTRIES] = torch.full((), ratio.numel(), device=ratio.device) if mask is None else mask.sum()
        clipped = (ratio - 1).abs() > self.clip_range
        statistics[CLIP_FRACTION] = pg.masked_mean(clipped.float(), mask)
        statistics[RATIO_ERROR] = (ratio - 1).abs().max()
        return loss, statistics

    def _value_loss(self, values: Tensor, batch: Batch) -> Tensor:
        targets, mask = batch["value_targets"], self._with_value_loss(batch)
        if self.value_clip_range:
            recorded = self._recorded_values(values, batch)
            return pg.clipped_value_loss(values, targets, recorded, self.value_clip_range, mask)
        return pg.value_loss(values, targets, mask)

    def _recorded_values(self, values: Tensor, batch: Batch) -> Tensor:
        """[B, T, N]; with `value_loss_at="decisions"` the present ones, from which none moves, of agents that carry on.

        A network may skip these agents while acting, so nothing was recorded of them.
        """
        valued = self._valued(batch)
        if self.value_loss_at == "all" or valued is None:
            return batch["values"]
        return torch.where(valued, batch["values"], values.detach())
