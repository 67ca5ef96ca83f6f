"""Return estimates, and the policy and value losses of PPO and IMPALA that learn from them.

GAE is eq. 16 of Schulman et al. 2016; V-trace is eq. 1 of Espeholt et al. 2018. Both read the value after each step
from `next_values`. It is V of the final observation if the episode was truncated, and V of the fragment's last
observation at the end of the fragment. So neither a time limit nor the end of a fragment counts as the end of the game.
(Stock RLlib 2.60 drops the bootstrap value at fragment ends.)

Losses are scalars, of tensors [B, T, M] float32: M is 1 in a team's joint form and N in the per-agent form. A mask
[B, T, M] bool has the entries that count, None for all; advantages and targets are constants. As in the authors' code
of A Cordial Sync, losses are summed over agents and averaged over steps, so a term has the same weight in both forms
and for any number of agents.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rl_models.batch import OverLearners, alone


@dataclass(frozen=True)
class Steps:
    """T consecutive steps of B worlds; `...` is empty for the sum over a team, or N for each agent.

    Attributes:
        rewards: [B, T, ...] float32.
        discounts: [B, T, ...] float32, gamma, or 0 if the game is over for the team or for this agent.
        continues: [B, T, ...] float32, 0 if the episode terminated or was truncated, else 1.
        next_values: [B, T, ...] float32, value of the next step, or of the final observation if the episode was
            truncated. It may be anything if the episode terminated.
        decides: [B, T, ...] bool, steps at which an agent (any agent of a team) chooses an action; None for all steps.
            Steps that only continue a decision belong to it: they are discounted, but they count neither in lambda nor
            in V-trace's weights, and they have no value of their own.
    """

    rewards: Tensor
    discounts: Tensor
    continues: Tensor
    next_values: Tensor
    decides: Tensor | None = None


def following_values(values: Tensor, last_values: Tensor, final_values: Tensor, truncated: Tensor) -> Tensor:
    """Values of the observations that follow each step, [B, T, ...], from those before each step.

    `last_values` [B, ...] are those after the last step, `final_values` [B, T, ...] those where `truncated`.
    """
    shifted = torch.cat([values[:, 1:], last_values[:, None]], dim=1)
    return torch.where(truncated, final_values, shifted)


def values_of_decisions(steps: Steps, values: Tensor, follow: Callable[[Tensor], Tensor]) -> tuple[Steps, Tensor]:
    """Replace values [B, T, ...] between decisions by reward + discount * next value, computed backwards.

    The value of a decision that lasts d steps is the sum of its d discounted rewards and gamma ** d times the value
    after it. `follow` gives the values [B, T, ...] after each step (`following_values`). Returns the steps with new
    `next_values` and the new values [B, T, ...]; both unchanged if all steps decide.
    """
    if steps.decides is None:
        return steps, values
    continuing = ~steps.decides
    change = accumulate(_errors(steps, values) * continuing, steps.discounts * steps.continues * continuing)
    values = values + change
    return replace(steps, next_values=follow(values)), values


def gae(steps: Steps, values: Tensor, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates (Schulman et al. 2016, eq. 16), [B, T, ...] float32, of values [B, T, ...].

    The targets of the values are these advantages plus `values`; `gae_lambda` is in [0, 1].
    """
    weight = gae_lambda if steps.decides is None else torch.where(steps.decides, gae_lambda, 1.0)
    return accumulate(_errors(steps, values), steps.discounts * steps.continues * weight)


def vtrace(
    steps: Steps, values: Tensor, log_ratios: Tensor, clip_rho: float = 1.0, clip_c: float = 1.0
) -> tuple[Tensor, Tensor]:
    """V-trace targets and advantages for steps sampled by an older policy (Espeholt et al. 2018, eq. 1).

    Values [B, T, ...] and logs of the present over the sampling probability [B, T, ...] are float32 constants;
    `clip_rho` (rho-bar) and `clip_c` (c-bar) bound the weights of errors and trace. Both results are [B, T, ...]
    float32, the advantages already weighted by rho.
    """
    values, ratios = values.detach(), log_ratios.detach().exp()
    rho = ratios.clamp(max=clip_rho)
    trace = ratios.clamp(max=clip_c)
    if steps.decides is not None:
        trace = torch.where(steps.decides, trace, 1.0)
    targets = values + accumulate(rho * _errors(steps, values), steps.discounts * steps.continues * trace)
    after = torch.cat([targets[:, 1:], steps.next_values[:, -1:]], dim=1)
    after = torch.where(steps.continues.bool(), after, steps.next_values)
    return targets, rho * (steps.rewards + steps.discounts * after - values)


def _errors(steps: Steps, values: Tensor) -> Tensor:
    """One-step temporal-difference errors, [B, T, ...]."""
    return steps.rewards + steps.discounts * steps.next_values - values


def accumulate(errors: Tensor, carry: Tensor) -> Tensor:
    """x_t = errors_t + carry_t * x_{t+1}, computed from the last step backwards, [B, T, ...] each."""
    out = torch.empty_like(errors)
    total = torch.zeros_like(errors[:, 0])
    for step in range(errors.shape[1] - 1, -1, -1):
        total = errors[:, step] + carry[:, step] * total
        out[:, step] = total
    return out


def masked_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean of x [...] over the entries that count; 0 if none does."""
    if mask is None:
        return x.mean()
    return (x * mask).sum() / mask.sum().clamp(min=1)


def team_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Sum over agents of x [B, T, M] and mean over the steps at which at least one counts."""
    if mask is None:
        return x.sum(-1).mean()
    return (x * mask).sum() / mask.any(-1).sum().clamp(min=1)


def standardise(x: Tensor, mask: Tensor | None, over_learners: OverLearners = alone) -> Tensor:
    """Subtract from x [...] the mean and divide by the standard deviation of the entries that count.

    `over_learners` sums over all learners, whose entries then share mean and deviation.
    """
    mean = _mean_over_learners(x, mask, over_learners)
    return (x - mean) / (_mean_over_learners((x - mean) ** 2, mask, over_learners).sqrt() + 1e-8)


def _mean_over_learners(x: Tensor, mask: Tensor | None, over_learners: OverLearners) -> Tensor:
    """`masked_mean` over the entries of all learners together; a learner may have none."""
    counts = torch.ones_like(x, dtype=torch.bool) if mask is None else mask
    total, number = over_learners(torch.stack([(x * counts).sum().double(), counts.sum().double()]))
    return (total / number.clamp(min=1)).to(x.dtype)


def ppo_surrogate(log_ratio: Tensor, advantages: Tensor, clip: float, mask: Tensor | None = None) -> Tensor:
    """Clipped surrogate loss of PPO (Schulman et al. 2017, eq. 7), whose epsilon is `clip`.

    `log_ratio` [B, T, M] are logs of the present over the old probability.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return -team_mean(torch.minimum(ratio * advantages, clipped * advantages), mask)


def policy_gradient_loss(log_prob: Tensor, advantages: Tensor, mask: Tensor | None = None) -> Tensor:
    """Policy gradient loss -log pi(a) * advantage, of log-probabilities and advantages [B, T, M]."""
    return -team_mean(log_prob * advantages.detach(), mask)


def value_loss(values: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Squared error of the values [B, T, M] without a factor of one half."""
    return team_mean((values - targets.detach()) ** 2, mask)


def clipped_value_loss(
    values: Tensor, targets: Tensor, old_values: Tensor, clip: float, mask: Tensor | None = None
) -> Tensor:
    """The larger of the squared errors of the value and of the value clipped to `clip` around that of acting.

    Verco's eq. 5 takes the smaller error, which would reward values that move away; the code of its base method takes
    the larger error.
    """
    clipped = old_values + (values - old_values).clamp(-clip, clip)
    targets = targets.detach()
    return team_mean(torch.maximum((values - targets) ** 2, (clipped - targets) ** 2), mask)


def approximate_kl(log_ratio: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean of r - 1 - log r for the present over the old probability r: not negative, and KL(old || new) on average."""
    return masked_mean(log_ratio.exp() - 1 - log_ratio, mask)
