"""IMPALA for a team (Espeholt et al., 2018): actor-critic with V-trace, which samples while it learns."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from rl_models.algorithms.actor_critic import ActorCritic, with_extra_losses
from rl_models.algorithms.learner_config import ImpalaConfig
from rl_models.algorithms.objective import RATIO_ERROR
from rl_models.batch import WHOLE, Batch, Share
from rl_models.losses import policy_gradient as pg
from rl_models.losses.extra_loss import ExtraLoss, MeanLoss, Statistics
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress


@dataclass(frozen=True, kw_only=True)
class Impala(ImpalaConfig, ActorCritic):
    """Actor-critic with V-trace. Values are computed again at all T + 1 observations.

    Subclasses override `compute_advantages`, `policy_loss` or `value_loss`.

    Every minibatch of every epoch gets targets and advantages of its own: in equation 1 of Espeholt et al. (2018) and
    the gradients of its section 4.2, pi and V are those of the learner at that moment. So V-trace corrects the lag of
    all optimiser steps since sampling, for earlier batches and for earlier minibatches of the same batch.

    RTFM's constants mean `sum_steps`: sum over T and mean over B; TorchBeast's mean `sum`, over both. B is the number
    of fragments in a minibatch, with those of all learners. Where agents carry on, the mean is over decisions, and a
    sum is that mean times T, or times B and T.

    Attributes:
        clip_rho, clip_c: where V-trace clips its ratios.
    """

    takes_turns: ClassVar[bool] = False
    needs_values: ClassVar[bool] = False
    target_kl: ClassVar[float] = 0.0
    clip_rho: float = 1.0
    clip_c: float = 1.0

    def loss(
        self, whole: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a batch, or on a part that holds this share of it, and numbers to log.

        `whole` covers all T + 1 observations.
        """
        values = whole.values[:, :-1]
        output = TeamOutput(whole.policy.first_steps(values.shape[1]), values, whole.state, whole.extras)
        log_prob = self._log_prob(output, batch)
        log_ratio = self._log_ratio(log_prob.detach(), batch)
        steps, carried = self.steps_of_batch(batch, values.detach(), whole.values[:, -1].detach())
        advantages, targets = self.compute_advantages(steps, carried, log_ratio.expand_as(values))
        policy_loss = self.policy_loss(log_prob, self._advantages(advantages), self._mask(batch))
        value_loss = self.value_loss(values, targets, self._with_value_loss(batch))
        loss, statistics = self._complete(output, batch, progress, policy_loss, value_loss, share)
        statistics[RATIO_ERROR] = (log_ratio.exp() - 1).abs().max()
        worlds, length = batch["reward"].shape[:2]
        factor = {"mean": 1.0, "sum_steps": length, "sum": worlds * length / share.steps}[self.loss_reduction]
        means = [extra for extra in self.extra_losses if isinstance(extra, MeanLoss)]
        loss, more = with_extra_losses(loss * factor, means, output, batch, progress, share.steps)
        return loss, statistics | more | {"loss/total": (loss / factor / share.steps).detach()}

    def compute_advantages(self, steps: pg.Steps, values: Tensor, log_ratio: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and value targets, [B, T, N] float32 each, by default V-trace's.

        From present values [B, T, N] and the log of the present over the sampling probability [B, T, N], float32 each.
        """
        targets, advantages = pg.vtrace(steps, values, log_ratio, self.clip_rho, self.clip_c)
        return advantages, targets

    def policy_loss(self, log_prob: Tensor, advantages: Tensor, mask: Tensor | None) -> Tensor:
        """Loss of the policy, a scalar: by default the policy gradient's.

        Log-probabilities [B, T, M], advantages [B, T, M] float32 and the mask [B, T, M] bool of the entries that count
        (None: all), where M is 1 (joint) or N (per agent).
        """
        return pg.policy_gradient_loss(log_prob, advantages, mask)

    def value_loss(self, values: Tensor, targets: Tensor, mask: Tensor | None) -> Tensor:
        """Loss of the values, a scalar: by default the squared error.

        Values [B, T, N] and targets [B, T, N] are float32, the mask [B, T, N] bool has the entries that count (None:
        all).
        """
        return pg.value_loss(values, targets, mask)

    @property
    def _losses_like_own(self) -> tuple[ExtraLoss, ...]:
        return tuple(extra for extra in self.extra_losses if not isinstance(extra, MeanLoss))
