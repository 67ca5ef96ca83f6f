"""Ready-made teams of A Cordial Sync (section 4): TBONE with SYNC or marginal policies, and the central policy.

Agents see a view of the grid, or camera frames (`VisualConfig`).
"""

from collections.abc import Callable
from typing import Protocol

from torch import nn

from rl_models.heads.central_head import CentralHead, SharedValueHead
from rl_models.heads.mixture_heads import MarginalHead, SyncHead, ValueHead
from rl_models.networks.central import Central
from rl_models.networks.network_config import TboneConfig, VisualConfig
from rl_models.networks.tbone import Tbone
from rl_models.networks.visual import VisualCentral, VisualTbone
from rl_models.policy import FeatureNetwork, TeamPolicy, seeded


def tbone_team(
    config: TboneConfig | VisualConfig,
    num_agents: int,
    seen: tuple[int, int, int],
    num_actions: int,
    components: int = 13,
    seed: int = 0,
) -> TeamPolicy:
    """Build a TBONE team with SYNC policies of M `components`; one component gives marginal policies.

    What an agent sees (`seen`) is a view (C, 15, 15), or with a `VisualConfig` a frame (P, P, 3).
    """

    def make_network() -> TalkingNetwork:
        if isinstance(config, VisualConfig):
            return VisualTbone(config, num_agents, seen)
        return Tbone(config, num_agents, seen)

    return communicating_team(make_network, num_actions, components, seed)


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
    config: TboneConfig | VisualConfig, num_agents: int, seen: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with one policy that sees what all agents see and has a probability for each joint action.

    Arguments as of `tbone_team`; widths of agents' vectors and of messages have no effect.
    """
    with seeded(seed):
        if isinstance(config, VisualConfig):
            network: Central | VisualCentral = VisualCentral(config, num_agents, seen)
        else:
            network = Central(config, num_agents, seen)
        head = CentralHead(network.features, num_actions, num_agents)
        return TeamPolicy(network, head, SharedValueHead(network.features, num_agents))
