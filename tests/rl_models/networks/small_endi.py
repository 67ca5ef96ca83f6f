"""Small divided teams for invented observations and for worlds, with masks that a test can set."""

import dataclasses

import torch

from rl_envs.rtfm.lexicon import KIND_MONSTER
from rl_envs.rtfm.world import Rtfm
from rl_models.networks import entity_divider, entity_divider_emma, entity_divider_matching
from rl_models.networks.entity_divider import DividedReadingConfig
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.entity_divider_matching import DividedMatchingConfig
from rl_models.networks.matching import MatchingConfig
from rl_models.networks.network_config import EmmaConfig
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from tests.rl_models.networks import small, small_emma, small_matching

BACKBONES = ("reading", "matching", "emma")
READING = DividedReadingConfig(small.narrow(Txt2PiConfig()), (4, 3))
READING = dataclasses.replace(READING, backbone=dataclasses.replace(READING.backbone, features=0))
EMMA = DividedEmmaConfig(EmmaConfig(features=7, channels=3, hidden_size=4), 5)
MATCHING = DividedMatchingConfig(
    MatchingConfig(word_features=6, node_features=5, features=7, window=2, reach=2), goal_features=4
)
IS_ENTITY = {"reading": torch.arange(small.NAMES) >= 6, "matching": small_matching.KINDS >= 2}
"""Which of the made-up names are entities, for each backbone."""


def team(backbone, agents=2, shares_network=True, **arguments):
    if backbone == "emma":
        config = EmmaTeamConfig(dataclasses.replace(EMMA, **arguments), shares_network=shares_network)
        return emma_team(config, small_emma.sizes(agents), small_emma.ACTIONS, small_emma.words).double()
    config = reader_config(backbone, shares_network, **arguments)
    sizes = {"reading": small, "matching": small_matching}[backbone].sizes(agents)
    return reader_team(config, sizes, small.ACTIONS, is_entity=IS_ENTITY[backbone]).double()


def reader_config(backbone, shares_network, **arguments):
    network = {"reading": READING, "matching": MATCHING}[backbone]
    return ReaderTeamConfig(dataclasses.replace(network, **arguments), shares_network=shares_network)


def observations(backbone, agents=2, batch=3, time=4, noise=True):
    """Made-up observations, with noise for the masks."""
    of_backbone = {"reading": small, "matching": small_matching, "emma": small_emma}[backbone]
    obs = of_backbone.observations(agents, batch=batch, time=time)
    shape = obs["grid"].shape if "grid" in obs else obs["symbols"][..., 0, :].shape
    uniforms = torch.rand(shape, generator=torch.Generator().manual_seed(7))
    return obs | ({"noise": uniforms} if noise else {})


def with_masks(monkeypatch, change):
    """Lets `change` turn every division's mask [K, E] into another."""
    for module in (entity_divider, entity_divider_emma, entity_divider_matching):

        def divide(*arguments, original=module.divide):
            division = original(*arguments)
            return dataclasses.replace(division, mask=change(division) * division.entities)

        monkeypatch.setattr(module, "divide", divide)


def world(backbone, num_worlds=6, agents=2, **arguments):
    """Worlds whose episodes end after six steps at the latest."""
    if backbone != "emma":
        stage = {"group": True, "dyna": True, "nl": True, "max_episode_steps": 6}
        return Rtfm(num_worlds, **(stage | arguments), num_agents=agents)
    return small_emma.world(num_worlds, num_agents=agents, **({"stage": 2, "max_episode_steps": 6} | arguments))


def team_for(backbone, place, shares_network=False, **arguments):
    if backbone == "emma":
        config = EmmaTeamConfig(dataclasses.replace(EMMA, **arguments), shares_network=shares_network)
        return small_emma.team_in(place, config)
    sizes = {"reading": small, "matching": small_matching}[backbone].sizes_of(place)
    is_entity = torch.from_numpy(place.tables["name_kinds"] >= KIND_MONSTER)
    config = reader_config(backbone, shares_network, **arguments)
    return reader_team(config, sizes, place.action_spec, is_entity=is_entity)
