"""Rewards and losses of MASER (Jeon et al., ICML 2022): each agent's sub-goal is its best observation so far.

Best is where its own value and the team's are largest. Being far from it costs reward, in a learned representation of
observations. The release trains neither the representation nor the term that explores past a sub-goal (its gradients
reach no weight that an optimiser owns); `form` chooses between the paper's method and the released one.

Sub-goals are sought within an episode, as far as a fragment holds it: in the whole episode if fragments are as long as
episodes and the worlds are reset together, which is the paper's rule.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean
from rl_models.losses.q_learning import best_values, chosen_values
from rl_models.networks.qmix_policy import ONLINE, REPRESENTATION, TARGET, make_mixing
from rl_models.networks.role_team_config import MaserConfig
from rl_models.policy import TeamOutput

_SMALL = 1e-8


@dataclass(frozen=True)
class Subgoals:
    """Sub-goals of the T steps of a batch, their intrinsic rewards and the agents' values; nothing here has a gradient.

    Attributes:
        step: [B, T, N] int64, k, the step of the fragment whose observation is the agent's sub-goal.
        intrinsic: [B, T, N] float32, minus the distance to the sub-goal.
        own: [B, T + 1, N] float32, target values of each agent's best actions.
    """

    step: Tensor
    intrinsic: Tensor
    own: Tensor


def subgoal_steps(own: Tensor, team: Tensor, is_first: Tensor, own_value_share: float) -> Tensor:
    """The step of each agent's best observation in the same episode, [B, T, N] int64; the first of several.

    Best is by the agent's value [B, T, N] with weight `own_value_share`, and the team's value [B, T] over N with the
    rest. `is_first` [B, T] bool says where an episode begins.
    """
    score = own_value_share * own + (1 - own_value_share) * (team / own.shape[-1])[..., None]
    episode = is_first.cumsum(1)[..., None].expand_as(score)
    of_episodes = score.new_full((len(score), score.shape[1] + 1, score.shape[2]), -torch.inf)
    best = of_episodes.scatter_reduce(1, episode, score, "amax").gather(1, episode)
    steps = torch.arange(score.shape[1], device=score.device)[:, None]
    found = steps.masked_fill(score < best, score.shape[1])
    first = torch.full_like(of_episodes, score.shape[1], dtype=torch.long).scatter_reduce(1, episode, found, "amin")
    return first.gather(1, episode)


def at_subgoals(values: Tensor, step: Tensor) -> Tensor:
    """Values at the observations that are sub-goals: [B, T, N, F] and steps [B, T, N] int64 -> [B, T, N, F]."""
    return values.gather(1, step[..., None].expand(values.shape))


def actionable_distance(values: Tensor, others: Tensor) -> Tensor:
    """One minus the cosine of action values [..., A] and [..., A], [...] float32; illegal actions count as 0."""
    values, others = (torch.where(one.isfinite(), one, 0.0) for one in (values, others))
    return 1 - torch.nn.functional.cosine_similarity(values, others, dim=-1, eps=_SMALL)


def divergence_from_uniform(values: Tensor) -> Tensor:
    """KL divergence in nats of softmax policies from uniform ones over legal actions: [..., A] -> [...] float32."""
    is_legal = values > -torch.inf
    log_policy = torch.where(is_legal, values.log_softmax(-1), 0.0)
    entropy = -(torch.where(is_legal, log_policy.exp(), 0.0) * log_policy).sum(-1)
    return is_legal.sum(-1).log() - entropy


def find_subgoals(output: TeamOutput, batch: Batch, config: MaserConfig) -> Subgoals:
    """Sub-goals and distances of a batch, from a policy with a representation at all T + 1 observations."""
    with torch.no_grad():
        own = best_values(output.extras[f"q/{ONLINE}"], output.extras[f"q/{TARGET}"])
        team = make_mixing(output.extras, TARGET, slice(None))(own)
        step = subgoal_steps(own[:, :-1], team[:, :-1], batch["is_first"][:, :-1], config.own_value_share)
        represented = output.extras[REPRESENTATION][:, :-1].detach()
        distance = torch.linalg.vector_norm(represented - at_subgoals(represented, step), dim=-1)
        return Subgoals(step, -distance, own)


def proxy_reward(batch: Batch, subgoals: Subgoals, config: MaserConfig) -> Tensor:
    """The team's reward with the mean distance to the sub-goals, R [B, T] float32."""
    return batch["reward"].mean(-1) + config.intrinsic_coef * subgoals.intrinsic.mean(-1)


def maser_losses(
    output: TeamOutput, batch: Batch, subgoals: Subgoals, config: MaserConfig, gamma: float
) -> tuple[Tensor, Statistics]:
    """The three weighted losses that MASER adds to that of the joint value, a scalar, and statistics of sub-goals."""
    individual = individual_error(output, batch, subgoals, config, gamma)
    explored = exploration(output, subgoals, ONLINE if config.form == "paper" else TARGET)
    distance = representation_error(output, subgoals)
    loss = config.individual_coef * individual + config.exploration_coef * explored + config.distance_coef * distance
    return loss, {
        "loss/individual": individual.detach(),
        "loss/exploration": explored.detach(),
        "loss/representation": distance.detach(),
        "maser/intrinsic_reward": subgoals.intrinsic.mean(),
        "maser/subgoal_step": subgoals.step.float().mean(),
    }


def individual_error(output: TeamOutput, batch: Batch, subgoals: Subgoals, config: MaserConfig, gamma: float) -> Tensor:
    """Squared errors of the agents' own values, summed over agents, a scalar; arguments as of `maser_losses`.

    An agent's reward is its share of R and its own distance; shares are the softmax of the agents' values, of the
    next observation as released, or of the present one as in the paper.
    """
    following = torch.where(batch["truncated"][..., None], batch["final_values"], subgoals.own[:, 1:])
    values = following if config.form == "released" else subgoals.own[:, :-1]
    reward = values.softmax(-1) * proxy_reward(batch, subgoals, config)[..., None]
    reward = reward + config.intrinsic_coef * subgoals.intrinsic
    discounts = gamma * (~batch["terminated"]).float()
    targets = reward + discounts[..., None] * following
    error = chosen_values(output.extras[f"q/{ONLINE}"][:, :-1], batch["actions"]) - targets
    return error.square().sum(-1).mean()


def exploration(output: TeamOutput, subgoals: Subgoals, who: str) -> Tensor:
    """Mean divergence of `online` or `target` policies from uniform at and after the sub-goals, a scalar in nats.

    The output is that of the policy at all T + 1 observations.
    """
    divergences = divergence_from_uniform(output.extras[f"q/{who}"][:, :-1])
    steps = torch.arange(divergences.shape[1], device=divergences.device)
    return masked_mean(divergences, steps[:, None] >= subgoals.step)


def representation_error(output: TeamOutput, subgoals: Subgoals) -> Tensor:
    """Mean squared error of represented distances, a scalar; the targets have no gradient."""
    represented, target = output.extras[REPRESENTATION][:, :-1], output.extras[f"q/{TARGET}"][:, :-1].detach()
    distance = torch.linalg.vector_norm(represented - at_subgoals(represented, subgoals.step), dim=-1)
    wanted = actionable_distance(target, at_subgoals(target, subgoals.step))
    return (distance - wanted).square().mean()
