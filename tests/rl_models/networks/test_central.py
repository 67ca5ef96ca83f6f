"""Central teams: one network that sees all views, one shared value."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch

from rl_envs.furnmove.actions import NUM_ACTIONS
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.heads.central_head import CentralHead, SharedValueHead
from rl_models.networks.network_config import TboneConfig
from rl_models.policy import Features
from tests.rl_models.networks.small_tbone import assert_starts_as_the_authors_do, run, views
from tests.rl_models.networks.small_tbone import central as team


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_a_joint_policy_a_value_each_and_a_live_gradient_everywhere(agents):
    policy = team(agents)
    output = run(policy, views(agents))
    assert isinstance(output.policy, JointCategorical)
    assert output.policy.log_table.shape == (3, 4, *[NUM_ACTIONS] * agents)
    assert output.values.shape == (3, 4, agents)
    actions = torch.zeros(3, 4, agents, dtype=torch.long)
    (output.policy.log_prob(actions).sum() + output.values.sum()).backward()
    assert [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("agents", [2, 3])
def test_every_agents_action_depends_on_what_every_agent_sees(agents):
    policy, obs = team(agents), views(agents, batch=1, time=1)
    before = run(policy, obs).policy.marginals()[0, 0]
    for agent in range(agents):
        changed = {"view": obs["view"].clone()}
        changed["view"][:, :, agent] = 1 - changed["view"][:, :, agent]
        after = run(policy, changed).policy.marginals()[0, 0]
        assert (after != before).any(-1).all()


@pytest.mark.parametrize("agents", [2, 3])
def test_agents_are_told_apart_by_their_order(agents):
    policy, obs = team(agents), views(agents, batch=1, time=1)
    seen = {
        tuple(run(policy, {"view": obs["view"][:, :, list(order)]}).values.flatten().tolist())
        for order in permutations(range(agents))
    }
    assert len(seen) == math.factorial(agents)


@pytest.mark.parametrize(("agents", "combine"), [(1, np.add), (2, np.multiply), (3, np.add)])
def test_agents_vectors_enter_as_a_product_for_two_and_as_a_sum_otherwise(agents, combine):
    head = CentralHead(5, 3, agents)
    torch.nn.init.normal_(head.vectors.weight)
    belief = torch.randn(1, 1, 1, 5, generator=torch.Generator().manual_seed(0))
    logits = head.joint(belief).detach().numpy().reshape((3,) * agents)
    vectors = head.vectors(belief).detach().numpy().reshape(agents, 3)
    outer = vectors[0]
    for vector in vectors[1:]:
        outer = combine.outer(outer, vector)
    wanted = np.exp(logits + outer)
    np.testing.assert_allclose(head(Features(belief, {})).joint().detach()[0, 0], wanted / wanted.sum(), rtol=1e-5)


def test_shares_of_one_value_learn_what_the_value_learns_from_the_summed_return():
    """Same minimiser: the gradient is that of (V - sum R) ** 2, divided by N."""
    head = SharedValueHead(4, 3)
    generator = torch.Generator().manual_seed(0)
    features = Features(torch.randn(2, 5, 1, 4, generator=generator), {})
    returns = torch.randn(2, 5, 3, generator=generator)
    shares = head(features)
    team_value = head.value(features.features)[:, :, 0, 0]
    torch.testing.assert_close(shares.sum(-1), team_value)
    of_shares = torch.autograd.grad((shares - returns).square().sum(), head.parameters())
    of_team = torch.autograd.grad((team_value - returns.sum(-1)).square().sum(), head.parameters())
    for one, other in zip(of_shares, of_team, strict=True):
        torch.testing.assert_close(3 * one, other, atol=1e-5, rtol=1e-5)


def test_weights_come_from_the_seed_alone_and_start_as_the_authors_do():
    """Glorot-uniform, convolutions times sqrt(2), zero biases, agents' vectors of norm 0.01."""
    torch.manual_seed(1)
    one = team(2, TboneConfig(), seed=7)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    other = team(2, TboneConfig(), seed=7)
    assert torch.equal(before, torch.get_rng_state())
    torch.testing.assert_close(list(one.parameters()), list(other.parameters()), rtol=0, atol=0)
    torch.testing.assert_close(one.policy_head.vectors.weight.norm(dim=1), torch.full((26,), 0.01))
    assert_starts_as_the_authors_do(one, one.network.sight.convolutions[2].weight, one.policy_head.joint.weight)
