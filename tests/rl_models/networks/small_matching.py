"""Small teams of mention-matching readers, in double precision, and observations of an invented world for them."""

import torch

from rl_envs.rtfm.lexicon import KIND_AGENT, YOU
from rl_models.networks.matching import MatchingConfig, MatchingSizes
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from tests.rl_models.networks import small

KINDS = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
"""Kind of each name of `small.sizes`; half of them are no nodes."""
SENTENCE_END = 7


def sizes(agents=1):
    shared = small.sizes(agents)
    return MatchingSizes(shared.num_agents, shared.vocabulary, shared.names, KINDS, SENTENCE_END, most_shown=100)


def team(agents=1, seed=0, shares_network=True, **changes):
    """A team that is a few units wide, with 2 cells of reach."""
    network = MatchingConfig(word_features=6, node_features=5, features=7, window=2, reach=2, **changes)
    policy = reader_team(ReaderTeamConfig(network, shares_network=shares_network), sizes(agents), small.ACTIONS, seed)
    return policy.double()


def observations(agents=1, height=3, width=4, **changes):
    """Observations of `small`, with three sentences in the longest document."""
    obs = small.observations(agents, height=height, width=width, **changes)
    table = obs["texts/document"]
    table[2:, 3], table[3:, 7] = SENTENCE_END, SENTENCE_END
    return obs


def sizes_of(world):
    """Sizes of a world of RTFM or its reading task: agents but the viewer, monsters and items are nodes."""
    kinds = torch.from_numpy(world.tables["name_kinds"].astype("int64")).clone()
    kinds[kinds < KIND_AGENT], kinds[YOU] = 0, 0
    names = torch.from_numpy(world.tables["name_words"].astype("int64"))
    words = world.text_spec["document"].vocabulary
    return MatchingSizes(world.num_agents, words, names, kinds, world.lexicon.encode(".")[0], most_shown=100)
