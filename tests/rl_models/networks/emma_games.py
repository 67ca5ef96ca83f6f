"""Worlds of MESSENGER with narrow teams of EMMA that play in them."""

from rl_envs.messenger.symbols import AVATARS, SIDE, SYMBOLS
from rl_envs.messenger.world import Messenger
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.network_config import EmmaConfig
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.text.choice import TextEncoderConfig, text_encoder
from tests.rl_models.training.small import begun

FEW = {"max_sentences_per_cell": 2}


def world(num_worlds=6, stage=1, **arguments):
    return Messenger(num_worlds, stage=stage, **(FEW | arguments))


def team(place, encoder="words", folder="", frames=3, **arguments):
    """A narrow team for a world."""
    return team_of(
        EmmaTeamConfig(EmmaConfig(features=12, channels=4, hidden_size=8), **arguments), place, encoder, folder, frames
    )


def team_of(config, place, encoder="words", folder="", frames=3):
    """A team for a world."""
    sizes = EmmaSizes(place.num_agents, len(SYMBOLS), len(AVATARS), SIDE, moments=frames)

    def build():
        return text_encoder(TextEncoderConfig(encoder, 10, folder=str(folder)), place.sentences, place.sentences)

    return emma_team(config, sizes, place.action_spec, build)


def collector(place, policy=None, length=10, **arguments):
    return begun(place, policy or team(place), length, **arguments)
