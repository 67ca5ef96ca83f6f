"""Dependence between agents' actions: total variation and mutual information, exact if the joint policy is small."""

import torch
from torch import Tensor

from rl_models.distributions.factored_mixture import FactoredMixture
from rl_models.distributions.joint_policy import JointPolicy, WholeJointPolicy, l1_to_product
from rl_models.distributions.mixture import ProductMixture

MAX_JOINT_ACTIONS = 3000
"""Largest number of joint actions of which every probability is computed."""
NUM_SAMPLES = 128
"""Number of joint actions that an estimate draws at each step."""


def measure_dependence(
    policy: JointPolicy, generator: torch.Generator, decides: Tensor | None = None
) -> dict[str, Tensor]:
    """How much the actions of the agents that decide depend on each other at one step, name -> [B, 1] float32.

    Up to `MAX_JOINT_ACTIONS` joint actions `tvd` is exact. Of more, `tvd_estimate` is a mean over samples; with numbers
    among the actions it is `mutual_information`, in nats (of three agents or more their total correlation). An estimate
    is unbiased, and draws new samples at each step. A policy that has neither gives nothing. The policy has batch shape
    [B, 1], `decides` is [B, 1, N] bool (None: all), the generator is on the CPU.
    """
    if isinstance(policy, WholeJointPolicy) and policy.num_actions**policy.num_agents <= MAX_JOINT_ACTIONS:
        return {"tvd": _exact_tvd(policy, decides)}
    if isinstance(policy, FactoredMixture) and policy.num_joint_actions <= MAX_JOINT_ACTIONS:
        return {"tvd": _exact_tvd(policy.as_marginals(), decides)}
    if not isinstance(policy, ProductMixture):
        return {}
    log_joint, log_product = _log_probabilities(policy, generator, decides)
    if isinstance(policy, FactoredMixture) and policy.gaussian is not None:
        return {"mutual_information": (log_joint - log_product).mean(1, keepdim=True)}
    # Of samples of Pi the mean of max(0, 1 - prod_i pi_i / Pi) is the total variation distance.
    return {"tvd_estimate": (1 - (log_product - log_joint).exp()).clamp(min=0.0).mean(1, keepdim=True)}


def _exact_tvd(policy: WholeJointPolicy, decides: Tensor | None) -> Tensor:
    """Total variation distance of the policy of the agents that decide; the others act as if alone, all alike."""
    if decides is None:
        return policy.tvd()
    joint, marginals, agents = policy.joint(), policy.marginals(), policy.num_agents
    for agent in range(agents):
        counts = decides[..., agent].reshape(*decides.shape[:-1], *[1] * agents)
        joint = torch.where(counts, joint, joint.mean(agent - agents, keepdim=True))
    return 0.5 * l1_to_product(joint, torch.where(decides[..., None], marginals, 1 / policy.num_actions))


def _log_probabilities(
    policy: ProductMixture, generator: torch.Generator, decides: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Log Pi and log of the product of the marginals of samples, [B, S] each."""
    repeated = policy.repeat(NUM_SAMPLES)
    shape = (*repeated.log_weights.shape[:2], repeated.num_uniforms)
    uniforms = torch.rand(shape, generator=generator, dtype=torch.float64).to(repeated.log_weights.device)
    actions, _ = repeated.sample(uniforms)
    marginal = repeated.marginal_log_prob(actions)
    counted = marginal if decides is None else marginal * decides
    return repeated.log_prob(actions, decides), counted.sum(-1)
