"""What is minimised: PPO or IMPALA over a team's joint policy, plus declared extra losses; QMIX is `q_learning.py`.

Returns, surrogates and extra losses are pure functions in `losses/`; here they are put together once.

Joint form: one ratio of joint probabilities, and the sum of all agents' advantages. That sum is the advantage of the
team's summed reward under the sum of the agents' values, because GAE and V-trace are linear in rewards and values; so
each value still learns from its own agent's reward. Where agents decide at different times, a decision of the team is
made whenever anybody decides and lasts until anybody decides again; every value is one of this joint process, so that
an agent's decision is credited with what it changes for those that carry on. Per-agent form: each agent's ratio of
log alpha_j + log pi^i_j for the component j that was drawn, with its own advantage over its own decisions, as A Cordial
Sync's code has it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from rl_models.algorithms.qmix import Qmix
from rl_models.batch import (
    WHOLE,
    Batch,
    Share,
    alive_mask,
    chosen_actions,
    decision_mask,
    leaving_mask,
    without_last_observation,
)
from rl_models.losses import policy_gradient as pg
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.losses.returns import Steps, following_values, gae, values_of_decisions, vtrace
from rl_models.policy import UNVALUED, TeamOutput, TeamPolicy
from rl_models.schedule import Progress, Schedule

EntropyKind = Literal["component", "marginal"]
Regressed = Literal["all", "decisions"]
APPROXIMATE_KL = "policy/approximate_kl"


@dataclass(frozen=True, kw_only=True)
class _Objective:
    """What PPO and IMPALA have in common."""

    gamma: float = 0.99
    value_weight: float = 0.25
    entropy_weight: Schedule = field(default_factory=lambda: Schedule.constant(0.0))
    entropy_kind: EntropyKind = "component"
    is_joint: bool = True
    regressed: Regressed = "all"
    """Where values are learned: of `all` agents in the game at every step, or only where a decision is made. With the
    latter steps that carry on with a macro action neither add to the value loss nor make its mean smaller. In the joint
    form a decision is the team's: it has the values of all agents in the game, also of those that carry on."""
    accumulate: int = 1
    """Parts of a minibatch whose gradients are summed before a step, so that memory holds one part at a time."""
    extra_losses: tuple[ExtraLoss, ...] = ()

    def new_replay(self) -> None:
        """Nothing is kept: each sample is learned from as long as it is new."""

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """Nothing follows an optimiser step."""

    def _log_prob(self, output: TeamOutput, batch: Batch) -> Tensor:
        """[B, T, 1] joint or [B, T, N] per agent.

        Raises:
            ValueError: the joint form of a team that does not value agents that carry on.
        """
        if self.is_joint and UNVALUED in output.extras:
            raise ValueError(
                "the joint form sums the values of all agents, and this network has none for agents that carry on "
                "while another one decides: set is_joint=False"
            )
        if self.is_joint:
            return output.policy.log_prob(chosen_actions(batch), decision_mask(batch))[..., None]
        return output.policy.component_log_prob(chosen_actions(batch), batch["component"])

    def _sampling_log_prob(self, batch: Batch) -> Tensor:
        return batch["log_prob"][..., None] if self.is_joint else batch["agent_log_prob"]

    def _log_ratio(self, log_prob: Tensor, batch: Batch) -> Tensor:
        """Log of present over sampling probability; 0 where nobody chose, for what was drawn there was ignored."""
        log_ratio = log_prob - self._sampling_log_prob(batch)
        mask = self._mask(batch)
        return log_ratio if mask is None else log_ratio.masked_fill(~mask, 0.0)

    def _advantages(self, advantages: Tensor) -> Tensor:
        """[B, T, N] -> what the ratio is multiplied with, [B, T, 1] or [B, T, N]."""
        return advantages.sum(-1, keepdim=True) if self.is_joint else advantages

    def _mask(self, batch: Batch) -> Tensor | None:
        mask = decision_mask(batch)
        return mask.any(-1, keepdim=True) if mask is not None and self.is_joint else mask

    def _valued(self, batch: Batch) -> Tensor | None:
        """[B, T, N] bool, agents of whom a decision is valued: their own, or in the joint form anybody's."""
        mask, present = decision_mask(batch), alive_mask(batch)
        if mask is None or not self.is_joint:
            return mask
        anybody = mask.any(-1, keepdim=True).expand_as(mask)
        return anybody if present is None else anybody & present

    def _regressed(self, batch: Batch) -> Tensor | None:
        """[B, T, N] bool, whose values are learned; None: everybody's."""
        return self._valued(batch) if self.regressed == "decisions" else alive_mask(batch)

    def _steps(self, batch: Batch, values: Tensor, last_values: Tensor) -> tuple[Steps, Tensor]:
        """What happened, and the values of the steps' observations with those of undecided steps carried back."""
        ended = (batch["terminated"] | batch["truncated"])[..., None]
        discounts = self.gamma * (~batch["terminated"][..., None]).float().expand_as(values)
        left = leaving_mask(batch)
        if left is not None:
            discounts = discounts * ~left
        truncated = batch["truncated"][..., None].expand_as(values)
        follow = functools.partial(
            following_values, last_values=last_values, final_values=batch["final_values"], truncated=truncated
        )
        continues = (~ended).float().expand_as(discounts)
        steps = Steps(batch["reward"], discounts, continues, follow(values), self._valued(batch))
        return values_of_decisions(steps, values, follow)

    def _complete(
        self,
        output: TeamOutput,
        batch: Batch,
        progress: Progress,
        policy_loss: Tensor,
        value_loss: Tensor,
        share: Share,
    ) -> tuple[Tensor, Statistics]:
        """Add the entropy bonus and the extra losses, each term weighed by its share of the steps it is a mean over."""
        weight = self.entropy_weight.at(progress)
        entropy = self._entropy(output, decision_mask(batch))
        of_decisions, of_values = policy_loss - weight * entropy, self.value_weight * value_loss
        # Somebody is in the game at every step, so the mean over the agents alive is one over all steps.
        share_of_values = share.decisions if self.regressed == "decisions" else share.steps
        loss = share.decisions * of_decisions + share_of_values * of_values
        total = of_decisions + of_values
        statistics: Statistics = {
            "loss/policy": policy_loss.detach(),
            "loss/value": value_loss.detach(),
            "policy/entropy": entropy.detach(),
            "schedule/entropy": weight,
        }
        for extra in self.extra_losses:
            addition, more = extra(output, batch, progress)
            loss, total = loss + share.steps * addition, total + addition
            statistics |= more
        return loss, statistics | {"loss/total": total.detach()}

    def _entropy(self, output: TeamOutput, acting: Tensor | None) -> Tensor:
        """Sum over the agents that choose, mean over the steps at which somebody does."""
        is_component = self.entropy_kind == "component"
        entropy = output.policy.component_entropy() if is_component else output.policy.marginal_entropy()
        if acting is None:
            return entropy.sum(-1).mean()
        return pg.masked_mean((entropy * acting).sum(-1), acting.any(-1))


@dataclass(frozen=True, kw_only=True)
class Ppo(_Objective):
    """Proximal policy optimisation with GAE from the values recorded while acting."""

    needs_values = True
    lambda_: float = 0.95
    clip: float = 0.2
    epochs: int = 2
    minibatches: int = 4
    standardises_advantages: bool = True
    target_kl: float = 0.0
    """A minibatch whose mean approximate KL exceeds this is not stepped on and ends the update; 0: no limit."""
    value_clip: float = 0.0
    """How far a value may move from the one recorded while acting before its error stops falling; 0: any way."""
    by_decisions: bool = False
    """Minibatches are of steps at which somebody chooses, shuffled over worlds and time, instead of whole fragments."""

    def prepare(self, batch: Batch, over_learners: pg.OverLearners = pg.alone) -> Batch:
        """Add `advantages` [B, T, 1 or N] and `value_targets` [B, T, N], once for all epochs.

        The observation after the last step has done its work (its value was recorded) and is dropped. Advantages are
        standardised by all learners together, so that two of them make the update that one would.
        """
        steps, values = self._steps(batch, batch["values"], batch["last_values"])
        advantages = gae(steps, values, self.lambda_)
        joint = self._advantages(advantages)
        if self.standardises_advantages:
            joint = pg.standardise(joint, self._mask(batch), over_learners)
        prepared = batch | {"advantages": joint, "value_targets": advantages + values}
        return without_last_observation(prepared)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a prepared batch, or on a part that holds this share of it, and numbers to log."""
        log_ratio = self._log_ratio(self._log_prob(output, batch), batch)
        surrogate = pg.ppo_surrogate(log_ratio, batch["advantages"], self.clip, self._mask(batch))
        value_loss = self._value_loss(output.values, batch)
        loss, statistics = self._complete(output, batch, progress, surrogate, value_loss, share)
        ratio = log_ratio.detach().exp()
        statistics[APPROXIMATE_KL] = pg.approximate_kl(log_ratio.detach(), self._mask(batch))
        statistics["policy/clipped_share"] = ((ratio - 1).abs() > self.clip).float().mean()
        statistics["policy/ratio_error"] = (ratio - 1).abs().max()
        return loss, statistics

    def _value_loss(self, values: Tensor, batch: Batch) -> Tensor:
        targets, mask = batch["value_targets"], self._regressed(batch)
        if self.value_clip:
            return pg.clipped_value_loss(values, targets, batch["values"], self.value_clip, mask)
        return pg.value_loss(values, targets, mask)


@dataclass(frozen=True, kw_only=True)
class Impala(_Objective):
    """Actor-critic with V-trace, each sample used once. Values are computed anew at all T + 1 observations."""

    needs_values = False
    clip_rho: float = 1.0
    clip_c: float = 1.0
    epochs: int = 1
    minibatches: int = 1
    sums_losses: bool = False
    """Sum over B and T instead of the mean: TorchBeast's constants mean this. B is that of all learners."""
    sums_steps: bool = False
    """Sum over T, mean over B: RTFM's constants mean this."""

    def prepare(self, batch: Batch, over_learners: pg.OverLearners = pg.alone) -> Batch:
        """Nothing: V-trace depends on the present policy."""
        return batch

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
        steps, carried = self._steps(batch, values.detach(), whole.values[:, -1].detach())
        targets, advantages = vtrace(steps, carried, log_ratio.expand_as(values), self.clip_rho, self.clip_c)
        policy_loss = pg.policy_gradient_loss(log_prob, self._advantages(advantages), self._mask(batch))
        value_loss = pg.value_loss(values, targets, self._regressed(batch))
        loss, statistics = self._complete(output, batch, progress, policy_loss, value_loss, share)
        statistics["policy/ratio_error"] = (log_ratio.exp() - 1).abs().max()
        worlds, length = batch["reward"].shape[:2]
        if self.sums_losses:
            return loss * (worlds * length / share.steps), statistics
        return loss * length if self.sums_steps else loss, statistics


Objective = Ppo | Impala | Qmix
