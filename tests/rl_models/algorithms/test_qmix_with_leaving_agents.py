"""QMIX and VDN where agents leave before an episode ends: the loss of a slow loop over those who are there."""

import pytest
import torch

from rl_models.algorithms.qmix import Qmix
from rl_models.batch import forward
from rl_models.networks.network_config import PartsConfig
from rl_models.networks.parts import Part
from rl_models.schedule import Progress
from rl_models.teams.parts_team import qmix_parts_team

WORLDS, STEPS, ACTIONS, GAMMA = 4, 9, 3, 0.9


def team(agents, mixing_hidden_size):
    config = PartsConfig(hidden_sizes=(8, 8))
    policy = qmix_parts_team(config, [Part("vector", (4,), 2.0)], agents, ACTIONS, mixing_hidden_size)
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.parameters():  # targets that differ from the networks
            weight.add_(0.2 * torch.randn(weight.shape, generator=draws))
    return policy


def drawn_batch(seed, agents):
    """Fragments of random play, in which agents leave one after another, and episodes end in both ways."""
    draws = torch.Generator().manual_seed(seed)

    def below(share, *shape):
        return torch.rand(*shape, generator=draws) < share

    ends = below(0.25, WORLDS, STEPS)
    truncated = ends & below(0.5, WORLDS, STEPS)
    is_first = torch.cat([below(0.5, WORLDS, 1), ends], 1)
    alive = torch.ones(WORLDS, STEPS + 1, agents, dtype=torch.bool)
    for step in range(1, STEPS + 1):
        stays = alive[:, step - 1] & ~below(0.2, WORLDS, agents)
        alive[:, step] = torch.where(is_first[:, step, None], True, stays)
    legal = below(0.6, WORLDS, STEPS + 1, agents, ACTIONS)
    actions = torch.randint(ACTIONS, (WORLDS, STEPS, agents), generator=draws)
    legal[:, :-1].scatter_(-1, actions[..., None], True)
    return {
        "obs/vector": torch.randn(WORLDS, STEPS + 1, agents, 4, generator=draws),
        "obs/alive": alive,
        "obs/legal": legal,
        "is_first": is_first,
        "actions": actions,
        "reward": torch.randn(WORLDS, STEPS, agents, generator=draws),
        "terminated": ends & ~truncated,
        "truncated": truncated,
        "final_values": torch.randn(WORLDS, STEPS, agents, generator=draws),
        "state/hidden": torch.randn(WORLDS, agents, 8, generator=draws),
    }


def slow_joint_value(mixer, values, vectors, present):
    """Q_tot of one step from the values of the agents that are there; equations of QMIX's section 4."""
    if mixer is None:
        return sum((values[agent] for agent in present), torch.zeros(()))
    encoder, net = mixer.encoder.encoder, mixer.mixer
    agents = len(values)
    parts = [torch.zeros(encoder.features) for _ in range(agents)]
    for agent in present:
        parts[agent] = encoder({"vector": vectors[agent][None, None, None]})[0, 0, 0]
    state = torch.cat(parts)
    first = net.first(state).abs().view(agents, -1)
    hidden = net.first_bias(state)
    for agent in present:
        hidden = hidden + values[agent] * first[agent]
    return (torch.nn.functional.elu(hidden) * net.second(state).abs()).sum() + net.second_bias(state)[0]


def slow_loss(policy, batch):
    extras = forward(policy, batch).extras
    total = torch.zeros(())
    for world in range(WORLDS):
        for step in range(STEPS):
            there = batch["obs/alive"][world, step].nonzero().flatten().tolist()
            if not there:
                continue
            online, target = extras["q/online"][world], extras["q/target"][world]
            chosen = {agent: online[step, agent, batch["actions"][world, step, agent]] for agent in there}
            values = [chosen.get(agent, torch.full((), torch.nan)) for agent in range(batch["reward"].shape[-1])]
            taken = slow_joint_value(policy.mixer, values, batch["obs/vector"][world, step], there)
            wanted = batch["reward"][world, step].mean()
            later = batch["obs/alive"][world, step + 1].nonzero().flatten().tolist()
            if batch["truncated"][world, step]:
                seen, final = batch["obs/vector"][world, step], batch["final_values"][world, step]
                wanted = wanted + GAMMA * slow_joint_value(policy.target_mixer, final, seen, there).detach()
            elif later and not batch["terminated"][world, step]:
                best = [target[step + 1, agent, online[step + 1, agent].argmax()] for agent in range(len(values))]
                seen = batch["obs/vector"][world, step + 1]
                wanted = wanted + GAMMA * slow_joint_value(policy.target_mixer, best, seen, later).detach()
            total = total + (taken - wanted) ** 2
    return total / (WORLDS * STEPS)


def fast_loss(policy, batch):
    objective = Qmix(gamma=GAMMA)
    return objective.loss(forward(policy, batch), objective.prepare(batch), Progress())[0]


def gradients(loss, policy):
    weights = [weight for weight in policy.parameters() if weight.requires_grad]
    found = torch.autograd.grad(loss, weights, allow_unused=True)
    return [torch.zeros_like(weight) if one is None else one for weight, one in zip(weights, found, strict=True)]


@pytest.mark.parametrize("mixing_hidden_size", [5, 0], ids=["qmix", "vdn"])
@pytest.mark.parametrize(("seed", "agents"), [(seed, agents) for seed in range(4) for agents in (2, 3)])
def test_loss_and_gradients_are_those_of_a_loop_over_the_agents_that_are_there(seed, agents, mixing_hidden_size):
    policy, batch = team(agents, mixing_hidden_size), drawn_batch(seed, agents)
    assert not batch["obs/alive"].all()
    fast, slow = fast_loss(policy, batch), slow_loss(policy, batch)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(gradients(fast, policy), gradients(slow, policy), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("mixing_hidden_size", [5, 0], ids=["qmix", "vdn"])
def test_what_an_agent_shows_and_is_said_to_do_after_it_has_left_changes_nothing(mixing_hidden_size):
    policy, batch = team(3, mixing_hidden_size), drawn_batch(1, 3)
    before = fast_loss(policy, batch)
    left = ~batch["obs/alive"]
    gone = dict(batch)
    gone["obs/vector"] = torch.where(left[..., None], 1e3, batch["obs/vector"])
    gone["actions"] = torch.where(left[:, :-1], 2 - batch["actions"], batch["actions"])
    gone["obs/legal"] = batch["obs/legal"] | left[..., None]
    # An agent's memory is its own, and is cleared where it comes back.
    after = fast_loss(policy, gone)
    assert torch.equal(before, after)
    torch.testing.assert_close(gradients(before, policy), gradients(after, policy), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("mixing_hidden_size", [5, 0], ids=["qmix", "vdn"])
def test_where_nobody_leaves_the_loss_is_that_of_a_world_that_nobody_can_leave(mixing_hidden_size):
    policy, batch = team(2, mixing_hidden_size), drawn_batch(2, 2)
    batch["obs/alive"][:] = True
    unable = {name: value for name, value in batch.items() if name != "obs/alive"}
    assert torch.equal(fast_loss(policy, batch), fast_loss(policy, unable)), "to the bit"
