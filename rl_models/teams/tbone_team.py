"""Ready-made teams of A Cordial Sync (section 4): TBONE with SYNC or marginal policies, and the central policy.

Agents see a view of the grid, or camera frames (`visual_team`, `visual_central_team`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from torch import nn

from rl_models.heads.central_head import CentralHead, SharedValueHead
from rl_models.heads.mixture_heads import MarginalHead, SyncHead, ValueHead
from rl_models.networks.central import Central, OneMemory
from rl_models.networks.network_config import TboneConfig, VisualConfig
from rl_models.networks.tbone import Tbone
from rl_models.networks.visual import VisualCentral, VisualTbone
from rl_models.policy import FeatureNetwork, TeamPolicy, seeded


@dataclass(frozen=True)
class TboneTeamConfig:
    """Configuration of a TBONE team with SYNC policies (several components) or marginal policies (one component)."""

    network: TboneConfig = field(default_factory=TboneConfig)
    components: int = 13
    """M, number of mixture components; 1 gives marginal policies."""


@dataclass(frozen=True)
class CentralTeamConfig:
    """Configuration of a central policy, which sees every agent's view and has a probability for each joint action."""

    network: TboneConfig = field(default_factory=TboneConfig)
    """Widths, as for TBONE; those of agents' vectors and of messages have no effect."""


def tbone_team(
    config: TboneTeamConfig, num_agents: int, view: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a TBONE team of agents with a `view` (C, 15, 15)."""
    make_network = functools.partial(Tbone, config.network, num_agents, view)
    return communicating_team(make_network, num_actions, config.components, seed)


class TalkingNetwork(FeatureNetwork, Protocol):
    """A network whose agents exchange messages of width `message_features`, 0 for none."""

    message_features: int


def communicating_team(
    make_network: Callable[[], TalkingNetwork], num_actions: int, components: int, seed: int = 0
) -> TeamPolicy:
    """Build a team of agents that exchange messages, for any observation; one component gives marginal policies."""
    with seeded(seed):
        network = make_network()
        head: nn.Module = MarginalHead(network.features, num_actions)
        if components > 1:
            head = SyncHead(network.features, num_actions, components, network.num_agents, network.message_features)
        return TeamPolicy(network, head, ValueHead(network.features))


def central_team(
    config: CentralTeamConfig, num_agents: int, view: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with a central policy; arguments as of `tbone_team`."""
    return central_policy_team(functools.partial(Central, config.network, num_agents, view), num_actions, seed)


def central_policy_team(make_network: Callable[[], OneMemory], num_actions: int, seed: int = 0) -> TeamPolicy:
    """Build a central policy, for any observation."""
    with seeded(seed):
        network = make_network()
        head = CentralHead(network.features, num_actions, network.num_agents)
        return TeamPolicy(network, head, SharedValueHead(network.features, network.num_agents))


@dataclass(frozen=True)
class VisualTeamConfig:
    """Configuration of a team with cameras."""

    network: VisualConfig = field(default_factory=VisualConfig)
    components: int = 13
    """M, number of mixture components; 1 gives marginal policies. A central policy has none."""


def visual_team(
    config: VisualTeamConfig, num_agents: int, frame: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with SYNC or marginal policies of agents with a `frame` (P, P, 3)."""
    make_network = functools.partial(VisualTbone, config.network, num_agents, frame)
    return communicating_team(make_network, num_actions, config.components, seed)


def visual_central_team(
    config: VisualTeamConfig, num_agents: int, frame: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with one central policy; arguments and errors as for `visual_team`."""
    return central_policy_team(functools.partial(VisualCentral, config.network, num_agents, frame), num_actions, seed)
