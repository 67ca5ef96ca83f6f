"""EMMA over occupied cells equals EMMA over all cells; parameter counts are the published ones; options take effect."""

import dataclasses

import pytest
import torch

from rl_models.networks.network_config import RELEASED
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.text.frozen import FrozenEncoder
from tests.rl_models.networks import slow_emma
from tests.rl_models.networks.small import gradients, run, weigh
from tests.rl_models.networks.small_emma import ACTIONS, FORMS, SENTENCES, frozen, observations, sizes, team, words

NAMES = sorted(FORMS)


def narrow(name):
    return dataclasses.replace(FORMS[name].network, features=7, channels=3, hidden_size=4)


def densely(policy, config, obs, member=None):
    """Log-probabilities [B, T, N, A] and values [B, T, N] of the dense form."""
    batch, time, agents = obs["symbols"].shape[:3]
    logs, values = [], []
    for b in range(batch):
        for t in range(time):
            for n in range(agents):
                private = hasattr(policy.network, "members")
                network = policy.network.members[n] if private else policy.network
                log, value = slow_emma.frame(policy, network, config, obs, b, t, n, n if private else 0)
                logs.append(log)
                values.append(value)
    lead = (batch, time, agents)
    return torch.stack(logs).view(*lead, -1), torch.stack(values).view(lead)


def run_as_densely(policy, name, obs):
    """The output of a team, which is that of the dense form, and the two parts of the latter."""
    output, dense = run(policy, obs), densely(policy, narrow(name), obs)
    torch.testing.assert_close((output.policy.log_marginals[..., 0, :], output.values), dense, atol=1e-10, rtol=0)
    return output, dense


@pytest.mark.parametrize(("agents", "encoder"), [(1, words), (2, words), (2, frozen)])
@pytest.mark.parametrize("name", NAMES)
def test_occupied_cells_alone_give_what_all_cells_give_gradients_included(name, agents, encoder):
    policy, obs = team(name, agents, encoder), observations(agents)
    _, dense = run_as_densely(policy, name, obs)
    ours = gradients(policy, obs)
    policy.zero_grad(set_to_none=True)
    weigh(*dense).backward()
    for parameter, weight in policy.named_parameters():
        wanted = weight.grad.clone()
        if parameter.endswith(("symbols.weight", "words.weight", "movements.weight")):
            wanted[0] = 0  # nothing stays nothing; the dense form has no padding
        torch.testing.assert_close(ours[parameter], wanted, atol=1e-10, rtol=0, msg=parameter)


def of_published_width(config, symbols=25, **arguments):
    return emma_team(config, sizes(symbols=symbols, **arguments), ACTIONS, lambda: FrozenEncoder([torch.zeros(3, 768)]))


def size(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_released_form_has_the_released_size():
    policy = of_published_width(EmmaTeamConfig(RELEASED))
    network = policy.network
    assert size(network.body.convolution) == 196_672
    assert size(network.reader) == 2 * (196_864 + 769)
    assert size(policy) == 1_942_984


def test_only_a_separate_hidden_layer_and_unused_rows_change_its_size():
    assert size(of_published_width(EmmaTeamConfig(), symbols=17)) == 1_942_984 + 16_512 - 8 * 256
    two_avatars = of_published_width(EmmaTeamConfig(), symbols=17, agents=2)
    assert size(two_avatars) == 1_942_984 + 16_512 - 6 * 256


@pytest.mark.parametrize("name", NAMES)
def test_private_networks_share_nothing(name):
    policy, obs = team(name, agents=2, shares_network=False), observations(agents=2)
    output, _ = run_as_densely(policy, name, obs)
    total = output.values[:, :, 1].sum() + output.policy.log_marginals[:, :, 1].square().sum()
    total.backward()
    touched = {name for name, weight in policy.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert touched
    assert all(".members.1." in name for name in touched)


@pytest.mark.parametrize("shares_network", [True, False])
def test_attention_maps_are_weights_of_sentences_and_their_words(shares_network):
    policy, obs = team("paper", 2, shares_network=shares_network), observations(agents=2)
    with torch.no_grad():
        assert run(policy, obs).extras == {}
        policy.network.shows_attention = True
        maps = run(policy, obs).extras
    assert maps["attention/manual"].shape == (2, 3, 2, 4, 3)
    is_here = obs["symbols"][..., -1, :] != 0
    torch.testing.assert_close(maps["attention/manual"].sum(-1), is_here.double())
    length = torch.tensor([len(range(1 + row % 4)) for row in range(SENTENCES)])[obs["manual"].long()]
    for name in ("attention/key_words", "attention/value_words"):
        assert maps[name].shape == (2, 3, 2, 3, 4)
        torch.testing.assert_close(maps[name].sum(-1), torch.ones(2, 3, 2, 3).double())
        assert not maps[name][torch.arange(4) >= length[..., None]].any()


def test_a_network_without_a_manual_has_no_attention_map():
    policy = team("game_id")
    policy.network.shows_attention = True
    assert run(policy, observations()).extras == {}
