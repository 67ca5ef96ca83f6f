"""Ready-made teams that read: txt2π and its baselines with their heads. An experiment names one by configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from rl_models.heads.legal_policy import LayeredValueHead, LegalPolicyHead
from rl_models.networks.private import of_agents
from rl_models.networks.reading import Sizes
from rl_models.networks.txt2pi import PAPER, ReadingConfig, Txt2PiConfig, reading_network
from rl_models.policy import TeamPolicy


@dataclass(frozen=True)
class ReadingTeamConfig:
    """A reading network with a policy and a value head."""

    network: ReadingConfig = field(default_factory=Txt2PiConfig)
    head_hidden_size: int = 0
    """Width between the two layers of each head (eqs. 21-22); 0: one layer, as in the released code."""
    only_legal_moves: bool = True
    """Moves into walls are never drawn, as in the released code; the paper does not mention it."""
    shares_network: bool = True
    """One network for all agents. False: one each, with nothing shared, as EnDi trains its baselines."""


PAPER_TEAM = ReadingTeamConfig(PAPER, head_hidden_size=400, only_legal_moves=False)
"""Widths of the heads' hidden layers are not in the paper; they are set to the features' width."""


def reading_team(config: ReadingTeamConfig, sizes: Sizes, actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that reads, with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        sizes: agents, vocabulary and names of the world.
        actions: A.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if config.shares_network else sizes.num_agents
        network = of_agents(lambda: reading_network(config.network, sizes), members)
        policy = LegalPolicyHead(network.features, actions, config.head_hidden_size, config.only_legal_moves, members)
        return TeamPolicy(network, policy, LayeredValueHead(network.features, config.head_hidden_size, members))
