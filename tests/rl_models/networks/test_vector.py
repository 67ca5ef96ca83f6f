"""Teams whose observation is a vector: multilayer perceptrons, and the averages of CommNet."""

import torch

from rl_models.networks.network_config import VectorConfig
from rl_models.networks.vector import VectorNetwork
from rl_models.teams.vector_team import vector_team


def network(rounds, num_agents=3):
    torch.manual_seed(0)
    return VectorNetwork(VectorConfig(hidden_sizes=(5,)), num_agents, [2.0, 4.0], rounds)


def seen(num_agents=3):
    return {"vector": torch.randint(0, 5, (2, 4, num_agents, 2), generator=torch.Generator().manual_seed(1))}


def test_a_round_adds_the_mean_of_the_others_states():
    net, obs = network(1), seen()
    states = net.dense(obs["vector"] / torch.tensor([2.0, 4.0]))
    features = net(obs, {}, torch.ones(2, 4)).features
    for agent in range(3):
        others = [states[:, :, other] for other in range(3) if other != agent]
        wanted = torch.tanh(net.own[0](states[:, :, agent]) + net.heard[0](sum(others) / 2))
        torch.testing.assert_close(features[:, :, agent], wanted)


def test_without_rounds_nobody_knows_what_others_see_and_with_them_everybody_does():
    for rounds, knows in ((0, False), (2, True)):
        net, obs, other = network(rounds), seen(), seen()
        other["vector"][:, :, 2] += 1
        first, second = (net(one, {}, torch.ones(2, 4)).features[:, :, 0] for one in (obs, other))
        assert torch.equal(first, second) != knows


def test_every_weight_of_a_team_gets_gradient_and_illegal_actions_no_probability():
    team = vector_team(VectorConfig(hidden_sizes=(6,)), 2, [2.0, 4.0], 3, rounds=2, seed=1)
    obs = seen(2) | {"legal": torch.tensor([True, False, True]).expand(2, 4, 2, 3)}
    output = team(obs, {}, torch.ones(2, 4, dtype=torch.bool))
    assert (output.policy.marginals()[..., 1] == 0).all()
    (output.values.sum() + output.policy.component_entropy().sum()).backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in team.parameters())
