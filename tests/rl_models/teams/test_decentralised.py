"""Agents that run apart and exchange only messages act exactly like their team."""

import pytest
import torch

from rl_models.distributions.factored_mixture import ActionParts
from rl_models.heads.factored_heads import FactoredHead
from rl_models.networks.network_config import PartsConfig, TboneConfig
from rl_models.networks.parts import Part
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import constant_team
from rl_models.teams.decentralised import AgentPolicy, message_sizes
from rl_models.teams.parts_team import parts_team
from rl_models.teams.tbone_team import tbone_team
from tests.rl_models.training.small import rooms

STEPS, WORLDS = 10, 3
NETWORK = TboneConfig(cell_features=4, channels=(4, 4, 8, 8), agent_features=3, hidden_size=16, message_features=5)
SILENT = TboneConfig(**{**vars(NETWORK), "communicates": False})


def decisive_team(world, components, network=NETWORK):
    """A team whose weights are large enough that views, memory and messages decide what it does."""
    spec = world.observation_spec["view"].shape
    policy = tbone_team(network, world.num_agents, spec, world.action_spec, components, seed=1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.4)
        for part in (policy.network.talk, policy.network.reply):
            part.classifier.weight.mul_(200)
    return policy.eval()


def in_lockstep(dialogues):
    """Hold all dialogues at once: every round, each is sent what all said. Their results and the number of rounds."""
    said, results, rounds = [None] * len(dialogues), [None] * len(dialogues), 0
    while None in results:
        messages = None if said[0] is None else torch.cat(said, 1)
        rounds += messages is not None
        for agent, dialogue in enumerate(dialogues):
            try:
                said[agent] = dialogue.send(messages)
            except StopIteration as end:
                results[agent] = end.value
    return results, rounds


def own(obs, agent):
    return {"view": torch.from_numpy(obs["view"][:, agent])}


def episodes(agents):
    """A world of several short episodes, with what a team is given at each of ten steps; `send` it the actions."""
    world = rooms(WORLDS, agents=agents)
    obs, first = world.reset(5), torch.ones(WORLDS, dtype=torch.bool)
    for _ in range(STEPS):
        uniforms = torch.from_numpy(world.chance.policy_uniforms(1 + agents))
        actions = yield obs, first, uniforms
        obs, _, terminated, truncated, _ = world.step(actions.numpy())
        first = torch.from_numpy(terminated | truncated)


@torch.inference_mode()
def play(policy, agents):
    """Team and separate agents in the same episodes: (team's policy, shares, team's actions, own actions) a step."""
    forwarding, acting = ([AgentPolicy(policy, agent) for agent in range(agents)] for _ in range(2))
    game, state = episodes(agents), policy.initial_state(WORLDS)
    moment = next(game)
    for _ in range(STEPS):
        obs, first, uniforms = moment
        output = policy({"view": torch.from_numpy(obs["view"])[:, None]}, state, first[:, None])
        state = output.state
        actions = output.policy.sample(uniforms[:, None])[0][:, 0]
        shares, _ = in_lockstep([one.forward(own(obs, one.agent), first) for one in forwarding])
        acted, rounds = in_lockstep([one.act(own(obs, one.agent), first, uniforms) for one in acting])
        yield output.policy, shares, actions, torch.stack(acted, 1), first, rounds
        try:
            moment = game.send(actions)
        except StopIteration:
            return


@pytest.mark.parametrize("network", [NETWORK, SILENT], ids=["talking", "silent"])
@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("agents", [2, 3])
def test_every_agents_share_and_every_action_are_the_teams(agents, components, network):
    policy = decisive_team(rooms(1, agents=agents), components, network)
    resets, chosen, weights = 0, set(), []
    for step, (whole, shares, actions, acted, first, _) in enumerate(play(policy, agents)):
        for agent, share in enumerate(shares):
            torch.testing.assert_close(share.log_weights.exp(), whole.log_weights.exp(), atol=1e-6, rtol=0)
            marginals = whole.log_marginals[..., [agent], :, :]
            torch.testing.assert_close(share.log_marginals.exp(), marginals.exp(), atol=1e-6, rtol=0)
        assert torch.equal(acted, actions)
        resets += int(first.sum()) if step else 0
        chosen |= set(actions.flatten().tolist())
        weights.append(whole.log_weights.exp().flatten(0, 1))
    assert resets >= WORLDS, "episodes began within what was compared"
    assert len(chosen) > 5
    assert components == 1 or torch.cat(weights).std(0).max() > 0.01, "messages move the mixture weights"


@pytest.mark.parametrize(
    ("network", "components", "rounds"), [(NETWORK, 1, 2), (NETWORK, 3, 2), (SILENT, 1, 0), (SILENT, 3, 1)]
)
def test_agents_send_only_messages_that_are_needed(network, components, rounds):
    """Twice a step; agents that hear only themselves not at all, but SYNC's weights come from everybody's reply."""
    policy = decisive_team(rooms(1), components, network)
    assert {counted for *_, counted in play(policy, 2)} == {rounds}
    obs, first = own(rooms(1).reset(0), 0), torch.ones(1, dtype=torch.bool)
    assert message_sizes(policy, obs, first) == [4 * NETWORK.message_features] * rounds


@pytest.mark.parametrize("spoilt_round", [0, 1])
def test_messages_of_others_change_an_agents_policy(spoilt_round):
    policy = decisive_team(rooms(1), 3)
    obs, first = own(rooms(1).reset(0), 0), torch.ones(1, dtype=torch.bool)

    def share(other):
        dialogue, heard = AgentPolicy(policy, 0).forward(obs, first), 0
        said = next(dialogue)
        with pytest.raises(StopIteration) as end:
            while True:
                foreign = torch.full_like(said, other if heard == spoilt_round else 0.0)
                said, heard = dialogue.send(torch.cat([said, foreign], 1)), heard + 1
        return end.value.value

    one, other = share(0.0), share(3.0)
    assert (one.log_marginals != other.log_marginals).any()
    assert (one.log_weights != other.log_weights).any()


class Central(torch.nn.Module):
    """One network for all agents: it has no part that an agent could run alone."""

    num_agents = 2


def test_an_agent_that_has_left_has_the_same_policy_apart_as_in_its_team():
    policy = parts_team(PartsConfig(hidden_sizes=(8,)), [Part("seen", (3,))], 2, 5, "sync", 3, ("alive",))
    seen, alive = torch.randn(3, 2, 3), torch.tensor([[True, True], [True, False], [False, True]])
    first = torch.ones(3, dtype=torch.bool)
    whole = policy({"seen": seen[:, None], "alive": alive[:, None]}, policy.initial_state(3), first[:, None]).policy
    apart = [{"seen": seen[:, agent], "alive": alive[:, agent]} for agent in range(2)]
    shares, _ = in_lockstep([AgentPolicy(policy, agent).forward(obs, first) for agent, obs in enumerate(apart)])
    torch.testing.assert_close(torch.cat([share.log_marginals for share in shares], 2), whole.log_marginals)


def test_a_team_that_must_act_in_one_process_says_why():
    talking = decisive_team(rooms(1), 3)
    central = TeamPolicy(Central(), talking.policy_head, talking.value_head)
    strange_head = TeamPolicy(talking.network, torch.nn.Identity(), talking.value_head)
    factored = TeamPolicy(talking.network, FactoredHead(4, ActionParts({"move": 2, "aim": 3})), talking.value_head)
    for policy in (central, strange_head, factored, constant_team(3, 2, 3)):
        with pytest.raises(TypeError, match="decentralised") as told:
            AgentPolicy(policy, 0)
        assert "\n" not in str(told.value)
