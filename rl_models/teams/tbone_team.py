"""Ready-made teams: which network with which heads. An experiment names one by its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from rl_models.heads.central_head import CentralHead, SharedValueHead
from rl_models.heads.joint_policy_head import MarginalHead, SyncHead, ValueHead
from rl_models.networks.central import Central
from rl_models.networks.constant import ConstantNetwork
from rl_models.networks.tbone import Tbone, TboneConfig
from rl_models.policy import TeamPolicy

_CONSTANT_FEATURES = 8


@dataclass(frozen=True)
class TboneTeamConfig:
    """A TBONE team with SYNC (several components) or marginal (one component) policies."""

    network: TboneConfig = field(default_factory=TboneConfig)
    components: int = 13
    """Mixture components m; 1 is the marginal policy."""


@dataclass(frozen=True)
class CentralTeamConfig:
    """One mind that sees every agent's view and has a probability for each joint action."""

    network: TboneConfig = field(default_factory=TboneConfig)
    """Widths as TBONE's; those of agents' vectors and messages have no meaning here."""


def tbone_team(
    config: TboneTeamConfig, num_agents: int, view: tuple[int, int, int], actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a TBONE team with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        num_agents: N.
        view: (C, 15, 15), one agent's observation `view`.
        actions: A.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Tbone(config.network, num_agents, view)
        head: nn.Module = MarginalHead(network.features, actions)
        if config.components > 1:
            head = SyncHead(network.features, actions, config.components, num_agents, network.message_features)
        return TeamPolicy(network, head, ValueHead(network.features))


def central_team(
    config: CentralTeamConfig, num_agents: int, view: tuple[int, int, int], actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a central team with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        num_agents: N.
        view: (C, 15, 15), one agent's observation `view`.
        actions: A.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Central(config.network, num_agents, view)
        head = CentralHead(network.features, actions, num_agents)
        return TeamPolicy(network, head, SharedValueHead(network.features, num_agents))


def uniform_team(num_agents: int, actions: int) -> TeamPolicy:
    """Build a team to which all actions are alike, impossible ones among them: random play.

    Args:
        num_agents: N.
        actions: A.
    """
    team = constant_team(1, num_agents, actions)
    for weights in team.parameters():
        nn.init.zeros_(weights)
    return team


def constant_team(components: int, num_agents: int, actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that looks at nothing, for one-step games, without touching torch's global generator.

    Args:
        components: mixture components m; 1 is the marginal policy.
        num_agents: N.
        actions: A.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        talk = _CONSTANT_FEATURES if components > 1 else 0
        network = ConstantNetwork(num_agents, _CONSTANT_FEATURES, talk)
        head: nn.Module = MarginalHead(network.features, actions)
        if components > 1:
            head = SyncHead(network.features, actions, components, num_agents, talk)
        return TeamPolicy(network, head, ValueHead(network.features))
