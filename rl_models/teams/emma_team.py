"""Ready-made teams of EMMA (Hanjie et al., 2021), with their heads: EMMA, also with EnDi's divider, and Game-ID."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from rl_models.heads.mixture_heads import PolicyTower, ValueTower
from rl_models.networks.emma import Emma, GameId
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider_emma import DividedEmma, DividedEmmaConfig
from rl_models.networks.network_config import EmmaConfig
from rl_models.networks.private import shared_or_private
from rl_models.policy import TeamPolicy, seeded
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class EmmaTeamConfig:
    """Configuration of a team of EMMA, with an entity divider or without, or of its Game-ID baseline."""

    network: EmmaConfig | DividedEmmaConfig = field(default_factory=EmmaConfig)
    reads: Literal["manual", "roles"] = "manual"
    """`manual` is EMMA, which reads the manual; `roles` is the Game-ID baseline, which gets each role's symbol."""
    sees_movement: bool = False
    """Whether a sprite's query has its movement; only for teams that read the manual; not in the paper."""
    shares_network: bool = True
    """True: all agents share one network. False: one network per agent, with nothing shared, as in EnDi's code."""


def emma_team(
    config: EmmaTeamConfig,
    sizes: EmmaSizes,
    num_actions: int,
    build_encoder: Callable[[], SentenceEncoder] | None = None,
    seed: int = 0,
) -> TeamPolicy:
    """Build a team; `build_encoder` builds the text encoder and is called once for each network that reads."""

    def build() -> Emma | GameId:
        network = config.network
        if config.reads == "roles" and isinstance(network, EmmaConfig):
            return GameId(network, sizes)
        if build_encoder is None:
            raise ValueError("a team that reads manuals needs a text encoder: pass build_encoder")
        if isinstance(network, DividedEmmaConfig):
            return DividedEmma(network, sizes, build_encoder(), num_actions)
        return Emma(network, sizes, build_encoder(), config.sees_movement)

    with seeded(seed):
        members = 1 if config.shares_network else sizes.num_agents
        network = shared_or_private(build, members)
        policy = PolicyTower(network.features, num_actions, members)
        return TeamPolicy(network, policy, ValueTower(network.features, members))
