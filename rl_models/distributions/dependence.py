"""How far agents act together: total variation and mutual information, exact where the joint policy can be listed."""

from __future__ import annotations

import torch
from torch import Tensor

from rl_models.distributions.factored_mixture import FactoredMixture
from rl_models.distributions.joint_policy import JointPolicy, WholeJointPolicy
from rl_models.distributions.mixture import ProductMixture

MAX_JOINT_ACTIONS = 3000
"""Largest number of joint actions of which every probability is computed."""
NUM_SAMPLES = 128
"""Number of joint actions that an estimate draws at each step."""
_QUANTILE = 1.96


def measure_dependence(policy: JointPolicy, generator: torch.Generator) -> dict[str, Tensor]:
    """How much the agents' actions depend on each other at one step.

    Up to `MAX_JOINT_ACTIONS` joint actions `tvd` is exact. Of more, `tvd_estimate` is a mean over samples; with numbers
    among the actions it is `mutual_information`, in nats (of three agents or more their total correlation). Beside an
    estimate stands `NAME_interval`, half the width of its 95 % interval.

    Args:
        policy: joint policy with batch shape [B, 1].
        generator: random numbers of the estimates, on the CPU.

    Returns:
        name -> [B, 1] float32; nothing for a policy that has neither.
    """
    if isinstance(policy, WholeJointPolicy) and policy.num_actions**policy.num_agents <= MAX_JOINT_ACTIONS:
        return {"tvd": policy.tvd()}
    if isinstance(policy, FactoredMixture) and policy.num_joint_actions <= MAX_JOINT_ACTIONS:
        return {"tvd": policy.as_marginals().tvd()}
    if not isinstance(policy, ProductMixture):
        return {}
    has_numbers = isinstance(policy, FactoredMixture) and policy.gaussian is not None
    name, estimate = ("mutual_information", mutual_information) if has_numbers else ("tvd_estimate", tvd_of_samples)
    drawn = estimate(*_log_probabilities(policy, generator))
    half_width = _QUANTILE * drawn.std(1, keepdim=True) / NUM_SAMPLES**0.5
    return {name: drawn.mean(1, keepdim=True), f"{name}_interval": half_width}


def tvd_of_samples(log_joint: Tensor, log_product: Tensor) -> Tensor:
    """A value for each sample of Pi whose mean is the total variation distance: max(0, 1 - prod_i pi_i / Pi).

    Args:
        log_joint: [...] float32, log Pi of a sample.
        log_product: [...] float32, log of the product of the marginals' probabilities.
    """
    return (1 - (log_product - log_joint).exp()).clamp(min=0.0)


def mutual_information(log_joint: Tensor, log_product: Tensor) -> Tensor:
    """A value for each sample of Pi whose mean is KL(Pi || product of its marginals), in nats; arguments as above."""
    return log_joint - log_product


def _log_probabilities(policy: ProductMixture, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Log Pi and log of the product of the marginals of samples, [B, S] each."""
    repeated = policy.repeat(NUM_SAMPLES)
    shape = (*repeated.log_weights.shape[:2], repeated.num_uniforms)
    uniforms = torch.rand(shape, generator=generator, dtype=torch.float64).to(repeated.log_weights.device)
    actions, _ = repeated.sample(uniforms)
    return repeated.log_prob(actions), repeated.marginal_log_prob(actions).sum(-1)
