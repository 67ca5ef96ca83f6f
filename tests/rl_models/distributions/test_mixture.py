"""The mixture of marginals against its definition: every quantity by enumeration of joint actions."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

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
    agents, components, actions = marginals.shape[1:]
    columns = []
    for joint in itertools.product(range(actions), repeat=agents):
        total = 0
        for j in range(components):
            product = weights[:, j]
            for i, action in enumerate(joint):
                product = product * marginals[:, i, j, action]
            total = total + product
        columns.append(total)
    return torch.stack(columns, dim=1)


def all_joint_actions(agents, actions=ACTIONS):
    return torch.tensor(list(itertools.product(range(actions), repeat=agents)))


@pytest.mark.parametrize(("agents", "components"), SIZES)
def test_the_joint_tensor_is_the_sum_over_components_of_products_of_marginals(agents, components):
    policy = mixture(agents, components)
    assert policy.joint().shape == (BATCH,) + (ACTIONS,) * agents
    torch.testing.assert_close(policy.joint().flatten(1), by_definition(policy), rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(policy.joint().flatten(1).sum(1), torch.ones(BATCH, dtype=torch.float64))


@pytest.mark.parametrize(("agents", "components"), SIZES)
def test_log_probabilities_of_actions_are_entries_of_the_joint_tensor(agents, components):
    policy = mixture(agents, components)
    every = all_joint_actions(agents)
    wanted = by_definition(policy).log()
    got = torch.stack([policy.log_prob(joint.expand(BATCH, -1)) for joint in every], dim=1)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(policy.log_joint_at(every.expand(BATCH, -1, -1)), wanted)
    torch.testing.assert_close(policy.log_joint().flatten(1), wanted)


def test_log_joint_at_reads_other_entries_for_each_sample():
    policy = mixture(3, 2)
    entries = torch.randint(ACTIONS, (BATCH, 5, 3), generator=torch.Generator().manual_seed(1))
    for row in range(BATCH):
        wanted = policy.log_joint()[row][tuple(entries[row].T)]
        torch.testing.assert_close(policy.log_joint_at(entries)[row], wanted)


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_only_deciding_agents_count(agents):
    policy = mixture(agents, 3)
    actions = torch.randint(ACTIONS, (BATCH, agents), generator=torch.Generator().manual_seed(2))
    others = torch.tensor([[(row + agent) % 2 == 0 for agent in range(agents)] for row in range(BATCH)])
    joint = policy.joint()
    for row in range(BATCH):
        tensor = joint[row]
        for agent in reversed(range(agents)):
            tensor = tensor.select(agent, actions[row, agent]) if others[row, agent] else tensor.sum(agent)
        got = policy.log_prob(actions, others)[row]
        torch.testing.assert_close(got, tensor.log(), atol=1e-12, rtol=1e-9)


def test_an_action_that_cannot_be_chosen_does_no_harm_where_its_agent_does_not_decide():
    logits = torch.zeros(1, 2, 2, 3)
    logits[0, 1, :, 0] = -torch.inf
    policy = MixtureOfMarginals.from_logits(torch.zeros(1, 2), logits)
    got = policy.log_prob(torch.tensor([[2, 0]]), torch.tensor([[True, False]]))
    torch.testing.assert_close(got, torch.tensor([1 / 3]).log())


@pytest.mark.parametrize(("agents", "components"), SIZES)
def test_the_per_agent_form_is_the_drawn_components_weight_and_the_agents_own_policy(agents, components):
    policy = mixture(agents, components)
    actions = torch.randint(ACTIONS, (BATCH, agents), generator=torch.Generator().manual_seed(3))
    component = torch.arange(BATCH) % components
    got = policy.component_log_prob(actions, component)
    for row in range(BATCH):
        for agent in range(agents):
            j = component[row]
            wanted = policy.log_weights[row, j] + policy.log_marginals[row, agent, j, actions[row, agent]]
            torch.testing.assert_close(got[row, agent], wanted)


@pytest.mark.parametrize(("agents", "components"), SIZES)
def test_marginals_and_entropies_follow_from_the_joint_tensor(agents, components):
    policy = mixture(agents, components)
    joint = policy.joint()
    weights, marginals = policy.log_weights.exp(), policy.log_marginals.exp()
    for agent in range(agents):
        others = [1 + other for other in range(agents) if other != agent]
        own = joint.sum(others) if others else joint
        torch.testing.assert_close(policy.marginals()[:, agent], own)
        torch.testing.assert_close(policy.marginal_entropy()[:, agent], torch.special.entr(own).sum(-1))
        with_component = weights[:, :, None] * marginals[:, agent]
        wanted = torch.special.entr(with_component).sum((1, 2))
        torch.testing.assert_close(policy.component_entropy()[:, agent], wanted)


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_distance_to_the_product_of_own_marginals(agents):
    policy = mixture(agents, 3)
    joint, marginals = policy.joint().numpy(), policy.marginals().numpy()
    for row in range(BATCH):
        product = np.array(1.0)
        for agent in range(agents):
            product = np.multiply.outer(product, marginals[row, agent])
        np.testing.assert_allclose(policy.tvd()[row], abs(joint[row] - product).sum() / 2, atol=1e-12)
    assert (policy.tvd() > 0.01).all() or agents == 1
    torch.testing.assert_close(mixture(agents, 1).tvd(), torch.zeros(BATCH, dtype=torch.float64))


def test_perfectly_correlated_agents_are_half_a_unit_from_every_product():
    always = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])
    policy = MixtureOfMarginals.from_logits(torch.zeros(2), always.expand(2, 2, 2))
    torch.testing.assert_close(policy.joint(), torch.eye(2) / 2)
    torch.testing.assert_close(policy.tvd(), torch.tensor(0.5))


@pytest.mark.parametrize(("agents", "components"), [(1, 3), (2, 1), (2, 3), (3, 3)])
def test_sampling_follows_the_joint_tensor(agents, components):
    draws, actions = 40_000, 3
    policy = mixture(agents, components, actions, batch=())
    generator = torch.Generator().manual_seed(4)
    uniforms = torch.rand(draws, 1 + agents, generator=generator, dtype=torch.float64)
    many = MixtureOfMarginals(
        policy.log_weights.expand(draws, -1), policy.log_marginals.expand(draws, *policy.log_marginals.shape)
    )
    sampled, component = many.sample(uniforms)
    index = sum(sampled[:, agent] * actions ** (agents - 1 - agent) for agent in range(agents))
    counts = np.bincount(index.numpy(), minlength=actions**agents)
    expected = policy.joint().flatten().numpy() * draws
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    by_component = np.bincount(component.numpy(), minlength=components)
    assert components == 1 or stats.chisquare(by_component, policy.log_weights.exp().numpy() * draws).pvalue > 1e-3


def test_all_agents_act_on_the_component_of_the_shared_draw():
    """Given the component, each agent plays that component's policy: here a different fixed action for each."""
    fixed = torch.where(torch.eye(3, dtype=torch.bool), 0.0, -torch.inf)
    policy = MixtureOfMarginals.from_logits(torch.zeros(6, 3), fixed.expand(6, 2, 3, 3))
    shared = torch.arange(6) / 6 + 0.05
    actions, component = policy.sample(torch.stack([shared, shared.flip(0), shared.roll(1)], dim=-1))
    assert component.tolist() == [0, 0, 1, 1, 2, 2]
    assert actions.tolist() == [[j, j] for j in component.tolist()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24, 1 - 2**-53])
def test_no_uniform_number_ever_picks_what_has_no_probability(uniform, dtype):
    logits = torch.tensor([-torch.inf, 0.3, -torch.inf, 1.7, -0.4, -torch.inf], dtype=dtype)
    policy = MixtureOfMarginals.from_logits(logits.expand(2, 6), logits.expand(2, 3, 6, 6))
    actions, component = policy.sample(torch.full((2, 4), uniform, dtype=torch.float64))
    wanted = 1 if uniform == 0.0 else 4
    assert set(actions.flatten().tolist()) == set(component.tolist()) == {wanted}


def test_a_boundary_belongs_to_the_interval_above_it():
    """Half-open intervals: 0.25 is the first number that picks the second of four equal actions."""
    policy = MixtureOfMarginals.from_logits(torch.zeros(4, 1).double(), torch.zeros(4, 1, 1, 4).double())
    uniforms = torch.tensor([[0.0, 0.25 - 1e-9], [0.0, 0.25], [0.0, 0.5], [0.0, 0.75]], dtype=torch.float64)
    assert policy.sample(uniforms)[0].flatten().tolist() == [0, 1, 2, 3]


def test_equal_uniforms_give_equal_actions_however_many_samples_are_drawn_at_once():
    policy = mixture(2, 3, batch=(8,))
    uniforms = torch.rand(8, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    whole = policy.sample(uniforms)[0]
    halves = [
        MixtureOfMarginals(policy.log_weights[part], policy.log_marginals[part]).sample(uniforms[part])[0]
        for part in (slice(0, 4), slice(4, 8))
    ]
    assert torch.equal(whole, torch.cat(halves))


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
