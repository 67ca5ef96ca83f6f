"""Ready-made teams for MESSENGER: EMMA and its Game-ID baseline with their heads. An experiment names one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch

from rl_models.heads.towers import PolicyTower, ValueTower
from rl_models.networks.emma import Emma, GameId
from rl_models.networks.emma_body import EmmaConfig, EmmaSizes
from rl_models.networks.private import of_agents
from rl_models.policy import TeamPolicy
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class EmmaTeamConfig:
    """What a team for MESSENGER consists of."""

    network: EmmaConfig = field(default_factory=EmmaConfig)
    reads: Literal["manual", "roles"] = "manual"
    """EMMA reads the manual; the Game-ID baseline is told each role's symbol instead."""
    shares_network: bool = True
    """One network for all agents. False: one each, with nothing shared, as in EnDi's release."""


def emma_team(
    config: EmmaTeamConfig,
    sizes: EmmaSizes,
    actions: int,
    build_encoder: Callable[[], SentenceEncoder] | None = None,
    seed: int = 0,
) -> TeamPolicy:
    """Build a team with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        sizes: of the world.
        actions: A.
        build_encoder: builds the text encoder, once for each network that reads.
        seed: of the initial weights.

    Raises:
        ValueError: a team that reads has no text encoder.
    """

    def member() -> Emma | GameId:
        if config.reads == "roles":
            return GameId(config.network, sizes)
        if build_encoder is None:
            raise ValueError("a team that reads manuals needs a text encoder: pass build_encoder")
        return Emma(config.network, sizes, build_encoder())

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if config.shares_network else sizes.num_agents
        features = 2 * config.network.hidden_size
        network, policy = of_agents(member, members), PolicyTower(features, actions, members)
        return TeamPolicy(network, policy, ValueTower(features, members))
