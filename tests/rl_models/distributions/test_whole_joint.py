"""Policies with a joint tensor: every quantity follows from that tensor, by enumeration of joint actions."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from tests.rl_models.distributions.test_joint_categorical import table
from tests.rl_models.distributions.test_mixture import mixture

BATCH, ACTIONS = 3, 4


def drawn(family, agents, actions=ACTIONS, batch=(BATCH,)):
    """A random policy of a family."""
    if family == "central":
        return table(agents, actions, batch)[0]
    return mixture(agents, 1 if family == "marginal" else 3, actions, batch)


each = pytest.mark.parametrize("family", ["marginal", "sync", "central"])
for_agents = pytest.mark.parametrize("agents", [1, 2, 3, 4])


@each
@for_agents
def test_log_probabilities_are_entries_of_the_joint_tensor(family, agents):
    policy = drawn(family, agents)
    every = torch.tensor(list(itertools.product(range(ACTIONS), repeat=agents)))
    wanted = policy.joint().flatten(1).log()
    got = torch.stack([policy.log_prob(joint.expand(BATCH, -1)) for joint in every], dim=1)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(policy.log_joint().flatten(1), wanted)
    entries = torch.randint(len(every), (BATCH, 5), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(policy.log_joint_at(every[entries]), wanted.gather(1, entries))


@each
@for_agents
@pytest.mark.parametrize("batch", [(8,), (2, 4)])
def test_only_deciding_agents_count(family, agents, batch):
    policy = drawn(family, agents, batch=batch)
    actions = torch.randint(ACTIONS, (*batch, agents), generator=torch.Generator().manual_seed(2))
    rows = torch.arange(8).view(batch)
    decides = torch.stack([(rows >> agent) % 2 == 1 for agent in range(agents)], dim=-1)
    got, joint = policy.log_prob(actions, decides), policy.joint()
    for row in itertools.product(*map(range, batch)):
        tensor = joint[row]
        for agent in reversed(range(agents)):
            tensor = tensor.select(agent, actions[row][agent]) if decides[row][agent] else tensor.sum(agent)
        torch.testing.assert_close(got[row], tensor.log(), atol=1e-12, rtol=1e-9)


@each
@for_agents
def test_marginals_their_entropies_and_the_distance_of_their_product(family, agents):
    policy = drawn(family, agents)
    joint = policy.joint().numpy()
    for row in range(BATCH):
        axes = [tuple(other for other in range(agents) if other != agent) for agent in range(agents)]
        marginals = np.array([joint[row].sum(axis) for axis in axes])
        np.testing.assert_allclose(policy.marginals()[row], marginals)
        np.testing.assert_allclose(policy.marginal_entropy()[row], -(marginals * np.log(marginals)).sum(1))
        product = np.array(1.0)
        for marginal in marginals:
            product = np.multiply.outer(product, marginal)
        np.testing.assert_allclose(policy.tvd()[row], abs(joint[row] - product).sum() / 2, atol=1e-12)
    assert (policy.tvd() > 0.01).all() or agents == 1 or family == "marginal"


@each
@pytest.mark.parametrize("agents", [1, 2, 3])
def test_sampling_follows_the_joint_tensor(family, agents):
    draws, actions = 40_000, 3
    policy = drawn(family, agents, actions, batch=(1,))
    many = policy.select_worlds(torch.zeros(draws, dtype=torch.long))
    uniforms = torch.rand(draws, policy.num_uniforms, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    sampled, component = many.sample(uniforms)
    index = np.ravel_multi_index(tuple(sampled.T.numpy()), (actions,) * agents)
    counts = np.bincount(index, minlength=actions**agents)
    assert stats.chisquare(counts, policy.joint().flatten().numpy() * draws).pvalue > 1e-3
    assert component.shape == (draws,) and component.dtype == torch.int64
    if family == "sync":
        expected = policy.log_weights[0].exp().numpy() * draws
        assert stats.chisquare(np.bincount(component.numpy(), minlength=3), expected).pvalue > 1e-3
    else:
        assert not component.any()


@each
def test_parts_of_a_batch_are_those_worlds_and_steps(family):
    policy = drawn(family, 2, batch=(5, 6))
    torch.testing.assert_close(policy.first_steps(4).joint(), policy.joint()[:, :4])
    torch.testing.assert_close(policy.select_worlds(slice(1, 3)).tvd(), policy.tvd()[1:3])
