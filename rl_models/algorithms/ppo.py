"""Proximal policy optimisation of a team (Schulman et al., 2017), with GAE from the values recorded while acting."""

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

    Subclasses override `compute_advantages`, `policy_loss` or `value_loss` (`examples/dual_clip.py`).

    A minibatch whose mean approximate KL exceeds `target_kl` is not stepped on and ends the update. With
    `decision_minibatches` steps are shuffled over worlds and time.
    """

    takes_turns: ClassVar[bool] = True
    needs_values: ClassVar[bool] = True

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Add `advantages` [B, T, 1 or N] and `value_targets` [B, T, N], once for all epochs.

        The observation after the last step is dropped, because its value is recorded. Advantages are standardised over
        all learners together, so that several learners make the same update as one.
        """
        batch = super().prepare(batch)
        steps, values = self.steps_of_batch(batch, batch["values"], batch["last_values"])
        advantages, targets = self.compute_advantages(steps, values)
        joint = self._advantages(advantages)
        if self.normalize_advantages:
            joint = pg.standardise(joint, self._mask(batch), learners.sum)
        return without_last_observation(batch | {"advantages": joint, "value_targets": targets})

    def compute_advantages(self, steps: pg.Steps, values: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and value targets, [B, T, N] float32 each: by default GAE, from values [B, T, N] float32."""
        advantages = pg.gae(steps, values, self.gae_lambda)
        return advantages, advantages + values

    def policy_loss(self, log_ratio: Tensor, advantages: Tensor, mask: Tensor | None) -> Tensor:
        """Loss of the policy, a scalar: by default PPO's clipped surrogate.

        Logs of the present over the old probability [B, T, M], advantages [B, T, M] float32 and the mask [B, T, M] bool
        of the entries that count (None: all), where M is 1 (joint) or N (per agent).
        """
        return pg.ppo_surrogate(log_ratio, advantages, self.clip_range, mask)

    def value_loss(self, values: Tensor, targets: Tensor, old_values: Tensor, mask: Tensor | None) -> Tensor:
        """Loss of the values, a scalar: the squared error, clipped if there is a `value_clip_range`.

        Values [B, T, N], targets [B, T, N] and values recorded while acting [B, T, N] are float32, the mask [B, T, N]
        bool has the entries that count (None: all).
        """
        if self.value_clip_range:
            return pg.clipped_value_loss(values, targets, old_values, self.value_clip_range, mask)
        return pg.value_loss(values, targets, mask)

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """Whole sequences, or with `decision_minibatches` single steps, shuffled again each epoch."""
        samples = decision_steps(batch) if self.decision_minibatches else batch
        return super().minibatches(samples, seed, replay, learners)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a prepared batch, or on a part that holds this share of it, and numbers to log."""
        log_ratio, mask = self._log_ratio(self._log_prob(output, batch), batch), self._mask(batch)
        policy_loss = self.policy_loss(log_ratio, batch["advantages"], mask)
        old_values = self._old_values(output.values, batch)
        value_loss = self.value_loss(output.values, batch["value_targets"], old_values, self._with_value_loss(batch))
        loss, statistics = self._complete(output, batch, progress, policy_loss, value_loss, share)
        ratio = log_ratio.detach().exp()
        statistics[APPROXIMATE_KL] = pg.approximate_kl(log_ratio.detach(), mask)
        statistics[KL_ENTRIES] = torch.full((), ratio.numel(), device=ratio.device) if mask is None else mask.sum()
        clipped = (ratio - 1).abs() > self.clip_range
        statistics[CLIP_FRACTION] = pg.masked_mean(clipped.float(), mask)
        statistics[RATIO_ERROR] = (ratio - 1).abs().max()
        return loss, statistics

    def _old_values(self, values: Tensor, batch: Batch) -> Tensor:
        """Recorded values [B, T, N]; present ones where a network may have skipped an agent while acting."""
        valued = self._valued(batch)
        if self.value_loss_at == "all" or valued is None:
            return batch["values"]
        return torch.where(valued, batch["values"], values.detach())
