"""TBONE teams: any number of agents, used parameters, messages."""

import pytest
import torch

from rl_envs.furnmove.actions import NUM_ACTIONS
from rl_models.networks.network_config import TboneConfig
from tests.rl_models.networks.small_tbone import assert_starts_as_the_authors_do, coordination, run, team, views


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_any_number_of_agents_gives_a_joint_policy_a_value_each_and_a_live_gradient_everywhere(agents, components):
    policy = team(agents, components)
    output = run(policy, views(agents))
    assert output.policy.log_marginals.shape == (3, 4, agents, components, NUM_ACTIONS)
    assert output.policy.log_weights.shape == (3, 4, components)
    assert output.values.shape == (3, 4, agents)
    actions = torch.zeros(3, 4, agents, dtype=torch.long)
    (output.policy.log_prob(actions).sum() + output.values.sum()).backward()
    dead = [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    # A lone agent has nobody to tell anything; all it says is read by SYNC's mixture weights, if it has them.
    speech = ("network.talk.classifier", "network.talk.symbols", "network.reply.classifier", "network.reply.symbols")
    unheard = () if agents > 1 else speech[:2] if components > 1 else speech
    assert [name for name in dead if not name.startswith(unheard)] == []


@pytest.mark.parametrize("agents", [2, 3])
def test_cordial_reaches_every_parameter_of_a_sync_team_but_the_value_head(agents):
    policy = team(agents, 3)
    sets = coordination(agents)
    which = torch.zeros(3, 4, dtype=torch.long)
    sets.cordial(sets.log_probabilities(run(policy, views(agents)).policy, which), which).mean().backward()
    dead = [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert dead == ["value_head.value.weight", "value_head.value.bias"]


def test_messages_carry_gradient_from_what_one_agent_sees_to_what_another_does():
    view = views(3, batch=1, time=1)["view"].float().requires_grad_()
    run(team(3, 1), {"view": view}).policy.log_marginals[0, 0, 0, 0, 0].backward()
    assert (view.grad.abs().sum((0, 1, 3, 4, 5)) > 0).all()


def test_a_message_lies_between_two_symbols():
    """One free scalar: any two messages of a round differ along the line from one symbol to the other."""
    policy = team(2, 3)
    messages = policy.network(views(2), policy.initial_state(3), torch.zeros(3, 4, dtype=torch.bool)).messages
    first, second = policy.network.reply.symbols
    share = ((messages - second) @ (first - second)) / (first - second).square().sum()
    torch.testing.assert_close(messages, second + share[..., None] * (first - second), atol=1e-5, rtol=1e-4)
    assert ((share >= 0) & (share <= 1)).all()


def test_agents_with_equal_views_differ_by_their_own_vector_alone():
    policy = team(2, 3)
    obs = views(2)
    obs["view"][:, :, 1] = obs["view"][:, :, 0]
    unlike = run(policy, obs).values
    assert (unlike[..., 0] != unlike[..., 1]).all()
    with torch.no_grad():
        policy.network.agent_vectors[1] = policy.network.agent_vectors[0]
    alike = run(policy, obs).values
    torch.testing.assert_close(alike[..., 0], alike[..., 1])


def test_weights_start_as_the_authors_do():
    """Glorot-uniform, convolutions times sqrt(2), zero biases, symbol classifiers of norm 0.01."""
    policy = team(2, 13, TboneConfig())
    network = policy.network
    assert_starts_as_the_authors_do(policy, network.convolutions[2].weight, network.lstm.weight_hh)
    for part in (network.talk, network.reply):
        torch.testing.assert_close(part.classifier.weight.norm(dim=1), torch.full((2,), 0.01))
    assert 0 <= network.agent_vectors.min() < network.agent_vectors.max() < 1
