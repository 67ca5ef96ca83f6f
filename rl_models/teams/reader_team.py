"""Ready-made teams that read documents, with their heads.

txt2π and its baselines (RTFM, section 4 and appendix C), SILG, the mention-matching reader (`networks/matching.py`, of
no paper), and both readers with an entity divider (EnDi).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from torch import Tensor

from rl_models.heads.mixture_heads import LayeredValueHead, LegalPolicyHead
from rl_models.networks.entity_divider import DividedReading, DividedReadingConfig
from rl_models.networks.entity_divider_matching import DividedMatching, DividedMatchingConfig
from rl_models.networks.matching import MatchingConfig, MatchingReader, MatchingSizes
from rl_models.networks.private import shared_or_private
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import ReadingConfig, Txt2PiConfig, reading_network
from rl_models.policy import FeatureNetwork, TeamPolicy, seeded

ReaderNetworkConfig: TypeAlias = ReadingConfig | MatchingConfig | DividedReadingConfig | DividedMatchingConfig
_HEAD_SCALE = 0.1
"""Scale of the initial weights of a matching reader's heads, in PyTorch's: all actions are nearly equally likely."""


@dataclass(frozen=True)
class ReaderTeamConfig:
    """Configuration of a reader with a policy head and a value head."""

    network: ReaderNetworkConfig = field(default_factory=Txt2PiConfig)
    head_hidden_size: int = 0
    """Width of the hidden layer of each head (eqs. 21-22); 0 for no hidden layer, as in the released code."""
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls, as in the released code; the paper does not mention it."""
    shares_network: bool = True
    """True: all agents share one network. False: one network per agent, with nothing shared, as in EnDi."""


def reader_team(
    config: ReaderTeamConfig, sizes: ReadingSizes, num_actions: int, seed: int = 0, is_entity: Tensor | None = None
) -> TeamPolicy:
    """Build a team that reads; a matching reader needs `MatchingSizes`, an entity divider `is_entity` [K] bool."""
    members = 1 if config.shares_network else sizes.num_agents
    team = build_team(
        lambda: make_reader(config.network, sizes, num_actions, is_entity),
        members,
        num_actions,
        config.head_hidden_size,
        config.only_legal_moves,
        seed,
    )
    if isinstance(config.network, MatchingConfig | DividedMatchingConfig):
        with torch.no_grad():
            for weights in (*team.policy_head.parameters(), *team.value_head.parameters()):
                weights.mul_(_HEAD_SCALE)
    return team


def make_reader(
    config: ReaderNetworkConfig, sizes: ReadingSizes, num_actions: int, is_entity: Tensor | None = None
) -> FeatureNetwork:
    """Build the network of a configuration; arguments as of `reader_team`."""
    if isinstance(config, MatchingConfig):
        assert isinstance(sizes, MatchingSizes)
        return MatchingReader(config, sizes)
    if not isinstance(config, DividedReadingConfig | DividedMatchingConfig):
        return reading_network(config, sizes)
    if is_entity is None:
        raise ValueError("an entity divider needs the names of entities: pass is_entity")
    if isinstance(config, DividedReadingConfig):
        return DividedReading(config, sizes, is_entity, num_actions)
    assert isinstance(sizes, MatchingSizes)
    return DividedMatching(config, sizes, is_entity, num_actions)


def build_team(
    make_network: Callable[[], FeatureNetwork],
    members: int,
    num_actions: int,
    head_hidden_size: int,
    only_legal_moves: bool,
    seed: int,
) -> TeamPolicy:
    """Build a team of readers with heads: 1 network that all agents share, or one per agent (`members`)."""
    with seeded(seed):
        network = shared_or_private(make_network, members)
        policy = LegalPolicyHead(network.features, num_actions, head_hidden_size, only_legal_moves, members)
        return TeamPolicy(network, policy, LayeredValueHead(network.features, head_hidden_size, members))
