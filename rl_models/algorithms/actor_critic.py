"""Common base of PPO (`ppo.py`) and IMPALA (`impala.py`): values, masks, entropy bonus, extra losses, minibatches.

Returns, surrogates and extra losses are pure functions in `losses/`; here they are put together once.

Joint form: one ratio of joint probabilities, and the sum of all agents' advantages. That sum is the advantage of the
team's summed reward under the sum of the agents' values, because GAE and V-trace are linear in rewards and values; so
each value still learns from its own agent's reward. Where agents decide at different times, a decision of the team is
made whenever an agent decides and lasts until an agent decides again; every value is one of this joint process, so that
an agent's decision is credited with what it changes for those that carry on. Per-agent form: each agent's ratio of
log alpha_j + log pi^i_j for the component j that was drawn, with its own advantage over its own decisions, as A Cordial
Sync's code has it.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rl_models.algorithms.learner_config import ActorCriticConfig, EntropyKind
from rl_models.algorithms.replay import Replay
from rl_models.batch import (
    ALONE,
    Batch,
    Learners,
    Share,
    alive_mask,
    chosen_actions,
    decision_mask,
    leaving_mask,
    select_worlds,
    valued_mask,
)
from rl_models.losses import policy_gradient as pg
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.policy import UNVALUED, VALUED, TeamOutput, TeamPolicy
from rl_models.schedule import Progress, Schedule


@dataclass(frozen=True, kw_only=True)
class ActorCritic(ActorCriticConfig):
    """Base class of the objectives of PPO and IMPALA.

    With `value_loss_at="decisions"` values are learned where a decision is made, and at the first step of each
    fragment, where the fragment before took its last values; other steps within a macro action are left out of the
    value loss. In the joint form a decision is the team's: it has the values of all agents in the game, also of those
    whose macro action continues.

    Attributes:
        entropy_coef: weight of the entropy bonus.
        entropy_kind: entropy in the bonus: `component`, component and action together; `marginal`, the agent's action.
        extra_losses: declared additions to the loss.
    """

    entropy_coef: Schedule = field(default_factory=lambda: Schedule.constant(0.0))
    entropy_kind: EntropyKind = "component"
    extra_losses: tuple[ExtraLoss, ...] = ()

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Mark the values to learn, once for all epochs, unless all agents' are learned at every step.

        Returns are bootstrapped from the observation after a fragment, where agents may carry on. The next fragment
        begins with this observation, so its first step teaches the values of all agents in the game.
        """
        valued = self._valued(batch)
        if self.value_loss_at == "all" or valued is None:
            return batch
        present = alive_mask(batch)
        everybody = torch.ones_like(valued[:, :1])
        first = everybody if present is None else present[:, :1]
        return batch | {f"obs/{VALUED}": torch.cat([first, valued[:, 1:], everybody], dim=1)}

    def new_replay(self) -> None:
        """None, because on-policy learning needs no replay."""

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """Whole sequences, shuffled again each epoch; a learner without rows of a minibatch still makes the step."""
        return shuffled_minibatches(batch, seed, learners, self.num_epochs, self.num_minibatches)

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """No-op."""

    def _log_prob(self, output: TeamOutput, batch: Batch) -> Tensor:
        """[B, T, 1] joint or [B, T, N] per agent."""
        self._check_values(output, batch)
        if not self.joint_ratio:
            return output.policy.component_log_prob(chosen_actions(batch), batch["component"])
        return output.policy.log_prob(chosen_actions(batch), decision_mask(batch))[..., None]

    def _check_values(self, output: TeamOutput, batch: Batch) -> None:
        """Refuse a network that skipped agents whose values are read."""
        mask, skipped = self._mask(batch), output.extras.get(UNVALUED)
        if mask is None or skipped is None:
            return
        if self.joint_ratio and (skipped[:, : mask.shape[1]] & mask.to(skipped.device)).any():
            raise ValueError(
                "the joint form sums the values of all agents, and this network has none for agents that carry on "
                "while another one decides: set joint_ratio=False"
            )
        if self.value_loss_at == "all":
            raise ValueError(
                "this network has no values for agents that carry on, which value_loss_at='all' learns: set "
                "value_loss_at='decisions'"
            )

    def _log_ratio(self, log_prob: Tensor, batch: Batch) -> Tensor:
        """Log of present over sampling probability; 0 where no agent decided."""
        log_ratio = log_prob - (batch["log_prob"][..., None] if self.joint_ratio else batch["agent_log_prob"])
        mask = self._mask(batch)
        return log_ratio if mask is None else log_ratio.masked_fill(~mask, 0.0)

    def _advantages(self, advantages: Tensor) -> Tensor:
        """Advantages [B, T, N] as factors of the ratio, [B, T, 1] or [B, T, N]."""
        return advantages.sum(-1, keepdim=True) if self.joint_ratio else advantages

    def _mask(self, batch: Batch) -> Tensor | None:
        mask = decision_mask(batch)
        return mask.any(-1, keepdim=True) if mask is not None and self.joint_ratio else mask

    def _valued(self, batch: Batch) -> Tensor | None:
        """[B, T, N] bool, agents whose value a decision needs: those that decide; in the joint form all present."""
        mask, present = decision_mask(batch), alive_mask(batch)
        if mask is None or not self.joint_ratio:
            return mask
        anybody = mask.any(-1, keepdim=True).expand_as(mask)
        return anybody if present is None else anybody & present

    def _with_value_loss(self, batch: Batch) -> Tensor | None:
        """[B, T, N] bool, agents whose values are learned; None: all."""
        valued = valued_mask(batch)
        return alive_mask(batch) if valued is None else valued

    def steps_of_batch(self, batch: Batch, values: Tensor, last_values: Tensor) -> tuple[pg.Steps, Tensor]:
        """Steps of the batch, and values [B, T, N] float32; undecided steps get the next decision's, carried back.

        Values [B, T, N] and those of the observation after the last step, [B, N], are float32 and constants.
        """
        ended = (batch["terminated"] | batch["truncated"])[..., None]
        discounts = self.gamma * (~batch["terminated"][..., None]).float().expand_as(values)
        left = leaving_mask(batch)
        if left is not None:
            discounts = discounts * ~left
        truncated = batch["truncated"][..., None].expand_as(values)
        follow = functools.partial(
            pg.following_values, last_values=last_values, final_values=batch["final_values"], truncated=truncated
        )
        continues = (~ended).float().expand_as(discounts)
        steps = pg.Steps(batch["reward"], discounts, continues, follow(values), self._valued(batch))
        return pg.values_of_decisions(steps, values, follow)

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
        weight = self.entropy_coef.coefficient(progress)
        entropy = self._entropy(output, decision_mask(batch))
        of_decisions, of_values = policy_loss - weight * entropy, self.value_coef * value_loss
        # At least one agent is in the game at every step, so the mean over the agents alive is one over all steps.
        loss = share.decisions * of_decisions + share.values * of_values
        statistics: Statistics = {
            "loss/policy": policy_loss.detach(),
            "loss/value": value_loss.detach(),
            "policy/entropy": entropy.detach(),
            "schedule/entropy": weight,
        }
        loss, more = with_extra_losses(loss, self._losses_like_own, output, batch, progress, share.steps)
        # Per share of the steps, so that the mean over the parts by their steps is the minibatch's.
        return loss, statistics | more | {"loss/total": (loss / share.steps).detach()}

    @property
    def _losses_like_own(self) -> tuple[ExtraLoss, ...]:
        """Extra losses with the reduction of the algorithm's own loss."""
        return self.extra_losses

    def _entropy(self, output: TeamOutput, acting: Tensor | None) -> Tensor:
        """Sum over the agents that choose, mean over the steps at which at least one does."""
        is_component = self.entropy_kind == "component"
        entropy = output.policy.component_entropy() if is_component else output.policy.marginal_entropy()
        if acting is None:
            return entropy.sum(-1).mean()
        return pg.masked_mean((entropy * acting).sum(-1), acting.any(-1))


def with_extra_losses(
    loss: Tensor,
    extra_losses: Iterable[ExtraLoss],
    output: TeamOutput,
    batch: Batch,
    progress: Progress,
    share: Tensor | float = 1.0,
) -> tuple[Tensor, Statistics]:
    """The loss plus its extra losses, each weighted by `share`, a scalar, and the statistics of the extra losses."""
    statistics: Statistics = {}
    for extra in extra_losses:
        addition, more = extra(output, batch, progress)
        loss = loss + share * addition
        statistics |= more
    return loss, statistics


def shuffled_minibatches(
    batch: Batch, seed: int, learners: Learners = ALONE, num_epochs: int = 1, num_minibatches: int = 1
) -> Iterator[Batch]:
    """All epochs' minibatches: whole sequences, shuffled again each epoch by a generator of this seed alone.

    There are as many as `num_minibatches` says, of sizes that differ by one at most, unless there are fewer sequences.
    With several learners they are cut from the joint batch, and each learner gets its own sequences of every minibatch,
    in some of which it may have none.
    """
    device = batch["is_first"].device
    held = learners.rows(len(batch["is_first"]), device)
    number = min(num_minibatches, held.total)
    if number == 0:
        return
    generator = torch.Generator().manual_seed(seed)
    for _ in range(num_epochs):
        if number == 1:
            yield batch
            continue
        own = [held.own(rows) for rows in _shuffled(held.total, number, generator)]
        for rows in torch.cat(own).to(device).split([len(rows) for rows in own]):
            yield select_worlds(batch, rows)


def _shuffled(total: int, number: int, generator: torch.Generator) -> list[Tensor]:
    """Row numbers of minibatches: each has one random row of every `number` consecutive rows of the batch."""
    order = torch.rand(-(-total // number), number, generator=generator).argsort(-1)
    rows = order + number * torch.arange(len(order))[:, None]
    return [column[column < total] for column in rows.unbind(1)]
