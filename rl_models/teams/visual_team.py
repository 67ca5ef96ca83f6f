"""Ready-made teams of A Cordial Sync that see camera frames: SYNC, marginal and central policies."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from rl_models.networks.visual import VisualCentral, VisualConfig, VisualTbone
from rl_models.policy import TeamPolicy
from rl_models.teams.tbone_team import talking_team, team_of_one


@dataclass(frozen=True)
class VisualTeamConfig:
    """Configuration of a team with cameras."""

    network: VisualConfig = field(default_factory=VisualConfig)
    components: int = 13
    """M, number of mixture components; 1 gives marginal policies. A central policy has none."""


def visual_team(
    config: VisualTeamConfig, num_agents: int, frame: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with SYNC or marginal policies. PyTorch's global generator is left as it is.

    Args:
        config: configuration of the team.
        num_agents: N.
        frame: (P, P, 3), shape of one agent's observation `frame`.
        num_actions: A.
        seed: seed of the initial weights.

    Raises:
        ValueError: the network cannot take frames of this size.
    """
    make_network = functools.partial(VisualTbone, config.network, num_agents, frame)
    return talking_team(make_network, num_actions, config.components, seed)


def visual_central_team(
    config: VisualTeamConfig, num_agents: int, frame: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team with one central policy; arguments and errors as for `visual_team`."""
    return team_of_one(functools.partial(VisualCentral, config.network, num_agents, frame), num_actions, seed)
