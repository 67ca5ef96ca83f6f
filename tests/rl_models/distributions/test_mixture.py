"""The mixture of marginals against its definition: every quantity by enumeration of joint actions."""

import itertools

import pytest
import torch

from rl_models.distributions.mixture import MixtureOfMarginals

BATCH, ACTIONS = 3, 4
SIZES = [(agents, components) for agents in (1, 2, 3, 4) for components in (1, 3)]


def mixture(agents, components, actions=ACTIONS, batch=(BATCH,), seed=0):
    generator = torch.Generator().manual_seed(seed)
    weights = 2 * torch.randn(*batch, components, generator=generator, dtype=torch.float64)
    marginals = 2 * torch.randn(*batch, agents, components, actions, generator=generator, dtype=torch.float64)
    return MixtureOfMarginals.from_logits(weights, marginals)


def by_definition(policy):
    """sum_j alpha_j prod_i pi^i_j(a_i), one joint action after another: [B, A ** N]."""
    weights, marginals = policy.log_weights.exp(), policy.log_marginals.exp()
    _, agents, _, actions = marginals.shape
    joint_actions = itertools.product(range(actions), repeat=agents)
    chosen = [torch.stack([marginals[:, i, :, a] for i, a in enumerate(joint)]) for joint in joint_actions]
    return torch.stack([(weights * each.prod(0)).sum(1) for each in chosen], dim=1)


@pytest.mark.parametrize(("agents", "components"), SIZES)
def test_the_joint_tensor_is_the_sum_over_components_of_products_of_marginals(agents, components):
    policy = mixture(agents, components)
    assert policy.joint().shape == (BATCH,) + (ACTIONS,) * agents
    torch.testing.assert_close(policy.joint().flatten(1), by_definition(policy), rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(policy.joint().flatten(1).sum(1), torch.ones(BATCH, dtype=torch.float64))


def test_an_action_that_cannot_be_chosen_does_no_harm_where_its_agent_does_not_decide():
    logits = torch.zeros(1, 2, 2, 3)
    logits[0, 1, :, 0] = -torch.inf
    policy = MixtureOfMarginals.from_logits(torch.zeros(1, 2), logits)
    got = policy.log_prob(torch.tensor([[2, 0]]), torch.tensor([[True, False]]))
    torch.testing.assert_close(got, torch.tensor([1 / 3]).log())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24, 1 - 2**-53])
def test_no_uniform_number_ever_picks_what_has_no_probability(uniform, dtype):
    logits = torch.tensor([-torch.inf, 0.3, -torch.inf, 1.7, -0.4, -torch.inf], dtype=dtype)
    policy = MixtureOfMarginals.from_logits(logits.expand(2, 6), logits.expand(2, 3, 6, 6))
    actions, component = policy.sample(torch.full((2, 4), uniform, dtype=torch.float64))
    wanted = 1 if uniform == 0.0 else 4
    assert set(actions.flatten().tolist()) == set(component.tolist()) == {wanted}


def test_the_entropy_of_marginals_has_a_finite_gradient_where_an_action_is_illegal():
    logits = torch.zeros(1, 1, 2, 3, 4).masked_fill(torch.tensor([False, False, True, True]), -1e9).requires_grad_()
    entropy = MixtureOfMarginals.from_logits(torch.zeros(1, 1, 3), logits).marginal_entropy()
    torch.testing.assert_close(entropy, torch.full((1, 1, 2), 2.0).log())
    entropy.sum().backward()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("never", [-1e9, -3e4])
def test_policies_are_normalised_even_where_every_action_is_illegal(never):
    logits = torch.randn(4, 1, 2, 1, 3, generator=torch.Generator().manual_seed(6))
    logits[1] = never
    logits[2, ..., 1:] = never
    mine, torchs = (logits.clone().requires_grad_() for _ in range(2))
    policy = MixtureOfMarginals.from_logits(torch.zeros(4, 1, 1), mine)
    wanted = torchs.log_softmax(-1)
    torch.testing.assert_close(policy.log_marginals, wanted)
    weights = torch.arange(float(wanted.numel())).view_as(wanted)
    (policy.log_marginals * weights).sum().backward()
    (wanted * weights).sum().backward()
    torch.testing.assert_close(mine.grad, torchs.grad)
