"""TBONE teams and central policies: any number of agents, messages, memory and initial weights."""

import itertools
import math

import numpy as np
import pytest
import torch

from rl_envs.furnmove.actions import NUM_ACTIONS, coordinated_actions
from rl_envs.furnmove.observation import VIEW, num_channels
from rl_models.heads.central_head import CentralHead, SharedValueHead
from rl_models.losses.cordial import CoordinationSet
from rl_models.networks.network_config import TboneConfig, VisualConfig
from rl_models.policy import Features
from rl_models.teams.tbone_team import central_team, tbone_team

SMALL = TboneConfig(cell_features=4, channels=(8, 8, 12, 16), agent_features=3, hidden_size=24, message_features=5)


def team(agents, components, network=SMALL):
    """A TBONE team, or a central one without components."""
    sizes = agents, (num_channels(agents), VIEW, VIEW), NUM_ACTIONS
    if components is None:
        return central_team(network, *sizes)
    return tbone_team(network, *sizes, components)


def views(agents, batch=3, time=4):
    shape = (batch, time, agents, num_channels(agents), VIEW, VIEW)
    return {"view": torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(0), dtype=torch.uint8)}


def run(policy, obs, is_first=None, state=None):
    batch, time = next(iter(obs.values())).shape[:2]
    is_first = torch.zeros(batch, time, dtype=torch.bool) if is_first is None else is_first
    return policy(obs, policy.initial_state(batch) if state is None else state, is_first)


def dead(policy):
    """Names of weights without a gradient."""
    return [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]


@pytest.mark.parametrize(
    ("agents", "components"), [*itertools.product((1, 2, 3, 4), (1, 3)), *((agents, None) for agents in (1, 2, 3))]
)
def test_any_number_of_agents_gives_a_joint_policy_a_value_each_and_a_live_gradient_everywhere(agents, components):
    policy = team(agents, components)
    output = run(policy, views(agents))
    if components:
        assert output.policy.log_marginals.shape == (3, 4, agents, components, NUM_ACTIONS)
        assert output.policy.log_weights.shape == (3, 4, components)
    else:
        assert output.policy.log_table.shape == (3, 4, *[NUM_ACTIONS] * agents)
    assert output.values.shape == (3, 4, agents)
    actions = torch.zeros(3, 4, agents, dtype=torch.long)
    (output.policy.log_prob(actions).sum() + output.values.sum()).backward()
    # A lone agent has nobody to tell anything; all it says is read by SYNC's mixture weights, if it has them.
    speech = ("network.talk.classifier", "network.talk.symbols", "network.reply.classifier", "network.reply.symbols")
    unheard = () if agents > 1 or not components else speech[:2] if components > 1 else speech
    assert [name for name in dead(policy) if not name.startswith(unheard)] == []


@pytest.mark.parametrize("agents", [2, 3])
def test_cordial_reaches_every_parameter_of_a_sync_team_but_the_value_head(agents):
    policy = team(agents, 3)
    actions, modalities = coordinated_actions(agents)
    groups = np.broadcast_to(modalities > 0, actions.shape[:2]).astype(int)
    sets = CoordinationSet(torch.from_numpy(actions), torch.from_numpy(groups))
    which = torch.zeros(3, 4, dtype=torch.long)
    sets.cordial(sets.log_probabilities(run(policy, views(agents)).policy, which), which).mean().backward()
    assert dead(policy) == ["value_head.value.weight", "value_head.value.bias"]


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


@pytest.mark.parametrize("components", [13, None])
def test_weights_come_from_the_seed_alone_and_start_as_the_authors_do(components):
    """Glorot-uniform, convolutions times sqrt(2), zero biases; rows of norm 0.01 for symbols and agents' vectors."""
    torch.manual_seed(1)
    policy = team(2, components, TboneConfig())
    torch.manual_seed(2)
    before = torch.get_rng_state()
    again = team(2, components, TboneConfig())
    torch.testing.assert_close(list(policy.parameters()), list(again.parameters()), rtol=0, atol=0)
    assert torch.equal(before, torch.get_rng_state())
    network, head = policy.network, policy.policy_head
    is_central = components is None
    kernel = (network.sight if is_central else network).convolutions[2].weight
    matrix = head.joint.weight if is_central else network.lstm.weight_hh
    bound, matrix_bound = math.sqrt(12 / (9 * sum(kernel.shape[:2]))), math.sqrt(6 / sum(matrix.shape))
    assert 0.98 * bound < kernel.abs().max() <= bound
    assert 0.99 * matrix_bound < matrix.abs().max() <= matrix_bound
    biases = [weights for name, weights in policy.named_parameters() if "bias" in name]
    assert len(biases) > 10 and not any(bias.any() for bias in biases)
    for layer in [head.vectors] if is_central else [network.talk.classifier, network.reply.classifier]:
        torch.testing.assert_close(layer.weight.norm(dim=1), torch.full_like(layer.weight[:, 0], 0.01))
    if not is_central:
        assert 0 <= network.agent_vectors.min() < network.agent_vectors.max() < 1


SIGHT = VisualConfig(channels=(4, 4, 4, 8), hidden_size=16, team_features=12)
TEAMS = {
    "marginal": lambda: team(2, 1),
    "sync": lambda: team(2, 3),
    "central": lambda: team(2, None),
    "central_of_three": lambda: team(3, None),
    "sync_by_frames": lambda: tbone_team(SIGHT, 2, (42, 42, 3), 5, components=3),
    "central_by_frames": lambda: central_team(SIGHT, 2, (42, 42, 3), 5),
}


def seen(policy, time):
    if "frame" not in policy.network.observation_keys:
        return views(policy.num_agents, time=time)
    shape = (3, time, policy.num_agents, 42, 42, 3)
    return {"frame": torch.randint(256, shape, generator=torch.Generator().manual_seed(0), dtype=torch.uint8)}


@pytest.mark.parametrize("name", TEAMS)
def test_steps_one_at_a_time_equal_all_steps_at_once_with_episodes_beginning_anywhere(name):
    policy = TEAMS[name]()
    ((key, shown),) = seen(policy, 6).items()
    is_first = torch.zeros(3, 6, dtype=torch.bool)
    is_first[0, 3] = is_first[1, 0] = is_first[1, 5] = True
    whole = run(policy, {key: shown}, is_first)
    state, values = policy.initial_state(3), []
    for step in range(6):
        output = run(policy, {key: shown[:, step : step + 1]}, is_first[:, step : step + 1], state)
        state = output.state
        values.append(output.values)
    torch.testing.assert_close(torch.cat(values, 1), whole.values, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state, whole.state, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", TEAMS)
def test_an_episode_remembers_nothing_of_the_one_before_it(name):
    policy = TEAMS[name]()
    ((key, shown),) = seen(policy, 5).items()
    is_first = torch.zeros(3, 5, dtype=torch.bool)
    is_first[:, 2] = True
    changed = shown.clone()
    changed[:, :2] = 1 - changed[:, :2]
    one, other = (run(policy, {key: each}, is_first).values for each in (shown, changed))
    torch.testing.assert_close(one[:, 2:], other[:, 2:])
    remembers = [run(policy, {key: each}).values for each in (shown, changed)]
    assert (remembers[0][:, 2:] != remembers[1][:, 2:]).all()


@pytest.mark.parametrize("agents", [2, 3])
def test_every_agents_action_depends_on_what_every_agent_sees(agents):
    policy, obs = team(agents, None), views(agents, batch=1, time=1)
    before = run(policy, obs).policy.marginals()[0, 0]
    for agent in range(agents):
        changed = {"view": obs["view"].clone()}
        changed["view"][:, :, agent] = 1 - changed["view"][:, :, agent]
        after = run(policy, changed).policy.marginals()[0, 0]
        assert (after != before).any(-1).all()


@pytest.mark.parametrize("agents", [2, 3])
def test_agents_are_told_apart_by_their_order(agents):
    policy, obs = team(agents, None), views(agents, batch=1, time=1)
    seen = {
        tuple(run(policy, {"view": obs["view"][:, :, list(order)]}).values.flatten().tolist())
        for order in itertools.permutations(range(agents))
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
