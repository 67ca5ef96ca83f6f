"""SILG's model in MESSENGER: its input, and that it reads."""

import numpy as np
import torch

from rl_models.networks.network_config import SilgConfig
from rl_models.networks.silg_entities import SilgEntities
from rl_models.text.words import Vocabulary
from tests.rl_models.networks.small_emma import WORDS, observations, sizes

NARROW = SilgConfig(hidden_size=3, word_features=4, channels=(4, 3), features=5)


def network(agents=2):
    torch.manual_seed(0)
    return SilgEntities(NARROW, sizes(agents), WORDS, WORDS)


def shown(agents=2, **changes):
    module, seen = network(agents), []
    module.reading.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    obs = observations(agents) | changes
    module(obs, {}, torch.zeros(2, 3, dtype=torch.bool))
    return module, obs, seen[0]


def test_sprites_lie_in_their_cells_and_avatars_above_them():
    _, obs, seen = shown()
    newest = {name: value[..., -1, :].long() for name, value in obs.items() if value.ndim == 5}
    for index in np.ndindex(*seen["grid"].shape[:3]):
        grid = seen["grid"][index].flatten(0, 1)
        wanted = torch.zeros_like(grid)
        for symbol, cell in zip(newest["symbols"][index], newest["cells"][index], strict=True):
            wanted[cell, 0] = max(wanted[cell, 0], symbol)
        for agent, (symbol, cell) in enumerate(
            zip(newest["agent_symbols"][index], newest["agent_cells"][index], strict=True)
        ):
            if symbol:
                wanted[cell, 1 + agent] = 17 + 2 * (agent > 0) + symbol - 15
        assert torch.equal(grid, wanted)


def test_every_name_has_words_of_its_own_but_avatars_share_whose_and_what():
    module = network()
    names, words = module.reading.names, len(Vocabulary.of(WORDS))
    assert not names[0].any()
    entities = names[1:15, 0]
    assert entities.min() == words
    assert len(entities.unique()) == 14
    own, own_with, other, other_with = names[17:21].tolist()
    assert own[0] == own_with[0] != other[0] == other_with[0]
    assert own[1] == other[1] != own_with[1] == other_with[1]
    assert not set(own + own_with + other + other_with) & set(entities.tolist())


def test_the_document_is_the_manuals_sentences_one_behind_the_other():
    _, obs, seen = shown()
    tokens = Vocabulary.of(WORDS).tokens(WORDS)
    for index in np.ndindex(*obs["manual"].shape[:3]):
        wanted = [int(word) for number in obs["manual"][index] for word in tokens[number] if word]
        document = seen["document"][index].tolist()
        assert document == wanted + [0] * (len(document) - len(wanted))


def test_fields_are_ones_own_avatar_and_the_others():
    module, _, seen = shown(agent_symbols=torch.full((2, 3, 2, 3, 2), 16, dtype=torch.uint8))
    assert (seen["goal"] == module.reading.names[18]).all()
    assert (seen["inventory"] == 20).all()
    assert seen["inventory"].shape[-1] == 1


def test_other_words_make_another_policy_and_older_moments_do_not():
    module, obs = network(), observations(2)
    first = torch.zeros(2, 3, dtype=torch.bool)
    features = module(obs, {}, first).features
    told = module(obs | {"manual": obs["manual"].roll(1, -1)}, {}, first).features
    assert (features - told).abs().max() > 1e-6
    older = obs["symbols"].clone()
    older[..., 0, :] = 0
    torch.testing.assert_close(module(obs | {"symbols": older}, {}, first).features, features)
