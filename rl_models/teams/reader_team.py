"""Ready-made teams that read, with their heads: txt2π and its baselines (RTFM, section 4 and appendix C), and ours.

`matching_team` is the mention-matching reader (`networks/matching.py`), which is of no paper.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from rl_models.heads.mixture_heads import LayeredValueHead, LegalPolicyHead
from rl_models.networks.matching import MatchingConfig, MatchingReader, MatchingSizes
from rl_models.networks.private import number_of_networks, shared_or_private
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import ReadingConfig, Txt2PiConfig, reading_network
from rl_models.policy import FeatureNetwork, TeamPolicy, seeded


@dataclass(frozen=True)
class ReadingTeamConfig:
    """Configuration of a reading network with a policy head and a value head."""

    network: ReadingConfig = field(default_factory=Txt2PiConfig)
    head_hidden_size: int = 0
    """Width of the hidden layer of each head (eqs. 21-22); 0 for no hidden layer, as in the released code."""
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls, as in the released code; the paper does not mention it."""
    shares_network: bool = True
    """True: all agents share one network. False: one network an agent, with nothing shared, as in EnDi's baselines."""


def reading_team(config: ReadingTeamConfig, sizes: ReadingSizes, num_actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that reads.

    Args:
        config: configuration of the team.
        sizes: sizes of the world.
        num_actions: A.
        seed: seed of the initial weights.
    """
    make_network = functools.partial(reading_network, config.network, sizes)
    members = number_of_networks(config.shares_network, sizes.num_agents)
    return build_reader_team(make_network, members, num_actions, config.head_hidden_size, config.only_legal_moves, seed)


def build_reader_team(
    make_network: Callable[[], FeatureNetwork],
    members: int,
    num_actions: int,
    head_hidden_size: int,
    only_legal_moves: bool,
    seed: int,
) -> TeamPolicy:
    """Build a team of any readers with a policy head and a value head.

    Args:
        make_network: builds a reader with `features`, its width.
        members: number of networks: 1 that all agents share, or one per agent.
        num_actions: A.
        head_hidden_size: width of the hidden layer of each head; 0 for no hidden layer.
        only_legal_moves: whether only legal moves are drawn.
        seed: seed of the initial weights.
    """
    with seeded(seed):
        network = shared_or_private(make_network, members)
        policy = LegalPolicyHead(network.features, num_actions, head_hidden_size, only_legal_moves, members)
        return TeamPolicy(network, policy, LayeredValueHead(network.features, head_hidden_size, members))


_HEAD_SCALE = 0.1
"""Scale of the heads' initial weights, in PyTorch's."""


@dataclass(frozen=True)
class MatchingTeamConfig:
    """Configuration of a matching reader with a policy head and a value head."""

    network: MatchingConfig = field(default_factory=MatchingConfig)
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls."""
    shares_network: bool = True
    """True: all agents share one network. False: one network an agent, with nothing shared."""


def matching_team(config: MatchingTeamConfig, sizes: MatchingSizes, num_actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that reads.

    Args:
        config: configuration of the team.
        sizes: sizes of the world.
        num_actions: A.
        seed: seed of the initial weights.
    """
    make_network = functools.partial(MatchingReader, config.network, sizes)
    members = number_of_networks(config.shares_network, sizes.num_agents)
    return near_uniform_reader_team(make_network, members, num_actions, config.only_legal_moves, seed)


def near_uniform_reader_team(
    make_network: Callable[[], FeatureNetwork], members: int, num_actions: int, only_legal_moves: bool, seed: int
) -> TeamPolicy:
    """Build a team of any readers that begins with all actions nearly equally likely.

    Args:
        make_network: builds a reader with `features`, its width.
        members: number of networks: 1 that all agents share, or one per agent.
        num_actions: A.
        only_legal_moves: whether only legal moves are drawn.
        seed: seed of the initial weights.
    """
    team = build_reader_team(make_network, members, num_actions, 0, only_legal_moves, seed)
    with torch.no_grad():
        for weights in (*team.policy_head.parameters(), *team.value_head.parameters()):
            weights.mul_(_HEAD_SCALE)
    return team
