"""Teams whose observation is a vector: multilayer perceptrons, and the averages of CommNet."""

import pytest
import torch

from rl_models.networks.network_config import PartsConfig, VectorConfig
from rl_models.networks.parts import Part
from rl_models.networks.vector import VectorNetwork
from rl_models.teams.parts_team import parts_team
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


def test_the_mean_of_the_others_is_one_over_those_in_the_game():
    alive = torch.tensor([True, True, False]).expand(2, 4, 3)
    net, is_first = network(1), torch.ones(2, 4)
    three, two = seen(), {"vector": seen()["vector"][:, :, :2]}
    smaller = network(1, num_agents=2)
    smaller.load_state_dict(net.state_dict())
    features = net(three | {"alive": alive}, {}, is_first).features
    torch.testing.assert_close(features[:, :, :2], smaller(two, {}, is_first).features)
    alone = net(three | {"alive": alive & torch.tensor([True, False, False])}, {}, is_first).features
    assert alone.isfinite().all()


@pytest.mark.parametrize(
    ("kind", "is_recurrent"), [("mappo", False), ("commnet", False), ("mappo", True), ("tbone", True), ("sync", True)]
)
def test_what_an_agent_that_has_left_observes_changes_nothing_for_the_others(kind, is_recurrent):
    config, part = PartsConfig(hidden_sizes=(6,)), Part("vector", (2,))
    team = parts_team(config, [part], 3, 4, kind, components=2, masks=["alive"], is_recurrent=is_recurrent)
    obs, other, is_first = seen(), seen(), torch.ones(2, 4, dtype=torch.bool)
    other["vector"][:, :, 2] += 1
    state = team.network.initial_state(2)
    for alive, is_heard in (([True, True, True], True), ([True, True, False], False)):
        outputs = [team(one | {"alive": torch.tensor(alive).expand(2, 4, 3)}, state, is_first) for one in (obs, other)]
        first, second = (torch.cat([out.values[..., None], out.policy.marginals()], -1)[:, :, :2] for out in outputs)
        assert torch.equal(first, second) != is_heard
