"""Ready-made team of mention-matching readers with their heads (`rl_models/networks/matching.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from rl_models.heads.legal_policy import LayeredValueHead, LegalPolicyHead
from rl_models.networks.matching import MatchingConfig, MatchingReader, MatchingSizes
from rl_models.networks.private import shared_or_private
from rl_models.policy import TeamPolicy

_HEAD_SCALE = 0.1
"""Scale of the heads' initial weights, in PyTorch's, so that a team begins with all actions nearly equally likely."""


@dataclass(frozen=True)
class MatchingTeamConfig:
    """Configuration of a matching reader with a policy head and a value head."""

    network: MatchingConfig = field(default_factory=MatchingConfig)
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls."""
    shares_network: bool = True
    """True: all agents share one network. False: one network an agent, with nothing shared."""


def matching_team(config: MatchingTeamConfig, sizes: MatchingSizes, num_actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that reads. PyTorch's global generator is left as it is.

    Args:
        config: configuration of the team.
        sizes: sizes of the world.
        num_actions: A.
        seed: seed of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if config.shares_network else sizes.num_agents
        network = shared_or_private(lambda: MatchingReader(config.network, sizes), members)
        policy = LegalPolicyHead(network.features, num_actions, 0, config.only_legal_moves, members)
        value = LayeredValueHead(network.features, 0, members)
        _scale_down(policy, value)
        return TeamPolicy(network, policy, value)


def _scale_down(*heads: nn.Module) -> None:
    with torch.no_grad():
        for parameter in (weights for head in heads for weights in head.parameters()):
            parameter.mul_(_HEAD_SCALE)
