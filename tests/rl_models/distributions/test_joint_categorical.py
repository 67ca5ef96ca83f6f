"""The joint categorical policy against its table; what follows from the joint tensor: `test_whole_joint.py`."""

import pytest
import torch

from rl_models.distributions.factored_mixture import FactoredMixture
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_policy import as_whole_joint
from rl_models.distributions.mixture import MixtureOfMarginals

BATCH, ACTIONS = 3, 4


def table(agents, actions=ACTIONS, batch=(BATCH,), seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(*batch, *[actions] * agents, generator=generator, dtype=torch.float64)
    return JointCategorical.from_logits(logits, agents), logits


def test_joint_actions_lie_in_row_major_order_on_half_open_intervals():
    policy = JointCategorical.from_logits(torch.zeros(5, 2, 2).double(), 2)
    uniforms = torch.tensor([[0.0], [0.25 - 1e-9], [0.25], [0.5], [0.75]], dtype=torch.float64)
    assert policy.sample(uniforms)[0].tolist() == [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]]


def test_the_per_agent_form_is_the_joint_log_probability_for_everyone():
    """Its gradient with each agent's own advantage is log Pi's with the sum of them."""
    _, logits = table(3)
    logits.requires_grad_()
    policy = JointCategorical.from_logits(logits, 3)
    actions = torch.tensor([[0, 1, 2], [3, 3, 3], [2, 0, 1]])
    advantages = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64)
    each = (policy.component_log_prob(actions, torch.zeros(BATCH, dtype=torch.long)) * advantages).sum()
    summed = policy.log_prob(actions).sum() * advantages.sum()
    one, other = (torch.autograd.grad(loss, logits, retain_graph=True)[0] for loss in (each, summed))
    torch.testing.assert_close(one, other)


def test_a_factored_policy_is_refused_where_joint_actions_are_needed():
    policy, _ = table(2)
    mixture = MixtureOfMarginals.from_logits(torch.zeros(1, 2), torch.zeros(1, 2, 2, 3))
    assert as_whole_joint(policy) is policy and as_whole_joint(mixture) is mixture
    with pytest.raises(TypeError, match="FactoredMixture"):
        as_whole_joint(FactoredMixture(mixture.log_weights, {"move": mixture.log_marginals}, None))


def test_the_gradient_of_the_entropies_is_finite_where_a_probability_is_too_small_to_be_told():
    logits = torch.zeros(3, 3)
    logits[2] = -500.0
    logits.requires_grad_()
    policy = JointCategorical.from_logits(logits, 2)
    (policy.marginal_entropy().sum() + policy.component_entropy().sum()).backward()
    assert logits.grad.isfinite().all()
