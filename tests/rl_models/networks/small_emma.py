"""Invented observations in the form of MESSENGER's, its worlds, and small teams for both, for the tests of EMMA."""

import dataclasses

import torch

from rl_envs.messenger.symbols import AVATARS, SIDE, SYMBOLS
from rl_envs.messenger.world import Messenger
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.network_config import RELEASED, EmmaConfig
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.text.choice import TextEncoderConfig, text_encoder
from rl_models.text.frozen import FrozenEncoder
from rl_models.text.words import Vocabulary, WordEncoder

ACTIONS, ENTITIES, SENTENCES = 5, 4, 9
WORDS = [" ".join(f"word{(7 * row + place) % 11}" for place in range(1 + row % 4)) for row in range(SENTENCES)]
FORMS = {
    "paper": EmmaTeamConfig(),
    "released": EmmaTeamConfig(RELEASED),
    "mean": EmmaTeamConfig(EmmaConfig(averages_sentences=True)),
    "movement": EmmaTeamConfig(sees_movement=True),
    "game_id": EmmaTeamConfig(reads="roles"),
}


def sizes(agents=1, symbols=17):
    return EmmaSizes(agents, symbols, agent_symbols=2, side=10)


def words():
    """Learned word vectors for nine sentences of one to four words."""
    return WordEncoder(WORDS, Vocabulary.of(WORDS), 6)


def frozen():
    """Made-up encodings of nine sentences."""
    generator = torch.Generator().manual_seed(3)
    return FrozenEncoder([torch.randn(2 + row % 5, 8, generator=generator) for row in range(SENTENCES)])


def team(name, agents=1, encoder=words, shares_network=True, seed=0):
    """A narrow team in double precision."""
    config = FORMS[name]
    narrow = dataclasses.replace(config.network, features=7, channels=3, hidden_size=4)
    config = dataclasses.replace(config, network=narrow, shares_network=shares_network)
    policy = emma_team(config, sizes(agents), ACTIONS, encoder, seed).double()
    for name, weights in policy.named_parameters():
        if name.endswith("movements.weight"):  # they begin at 0, which would hide them
            torch.nn.init.normal_(weights[1:], generator=torch.Generator().manual_seed(seed))
    return policy


def observations(agents=1, batch=2, time=3, moments=3, sentences=3, seed=0):
    """Sprites crowd a few cells, so that several share one; some are gone, and so are some avatars."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high, *shape, dtype=torch.uint8):
        return torch.randint(low, high, (batch, time, agents, *shape), generator=generator).to(dtype)

    crowded = torch.tensor([0, 9, 34, 35, 44, 99], dtype=torch.uint8)
    symbols = draw(2, 14, moments, ENTITIES) * (draw(0, 5, moments, ENTITIES) > 0)
    avatars = draw(15, 17, moments, agents) * (draw(0, 6, moments, agents) > 0)
    return {
        "symbols": symbols,
        "cells": crowded[draw(0, 6, moments, ENTITIES).long()] * (symbols > 0),
        "agent_symbols": avatars,
        "agent_cells": crowded[draw(0, 6, moments, agents).long()] * (avatars > 0),
        "manual": draw(0, SENTENCES, sentences, dtype=torch.int32),
        "roles": draw(2, 14, 3),
    }


def world(num_worlds=6, stage=1, **arguments):
    return Messenger(num_worlds, stage=stage, **({"max_sentences_per_cell": 2} | arguments))


def team_in(place, config=None, frames=3, **arguments):
    config = config or EmmaTeamConfig(EmmaConfig(features=12, channels=4, hidden_size=8), **arguments)
    shown = EmmaSizes(place.num_agents, len(SYMBOLS), len(AVATARS), SIDE, moments=frames)
    texts = TextEncoderConfig("words", 10), place.sentences, place.sentences
    return emma_team(config, shown, place.action_spec, lambda: text_encoder(*texts))
