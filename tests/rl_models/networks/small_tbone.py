"""Views of an invented room, coordination sets and small teams, for the tests of TBONE and central policies."""

import numpy as np
import torch

from rl_envs.furnmove.actions import NUM_ACTIONS, coordinated_actions
from rl_envs.furnmove.observation import VIEW, num_channels
from rl_models.losses.cordial import CoordinationSet
from rl_models.networks.network_config import TboneConfig
from rl_models.teams.tbone_team import CentralTeamConfig, TboneTeamConfig, central_team, tbone_team

SMALL = TboneConfig(cell_features=4, channels=(8, 8, 12, 16), agent_features=3, hidden_size=24, message_features=5)


def team(agents, components, network=SMALL, seed=0):
    return tbone_team(
        TboneTeamConfig(network, components), agents, (num_channels(agents), VIEW, VIEW), NUM_ACTIONS, seed
    )


def central(agents, network=SMALL, seed=0):
    return central_team(CentralTeamConfig(network), agents, (num_channels(agents), VIEW, VIEW), NUM_ACTIONS, seed)


def views(agents, batch=3, time=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, time, agents, num_channels(agents), VIEW, VIEW)
    return {"view": torch.randint(0, 2, shape, generator=generator, dtype=torch.uint8)}


def run(policy, obs, is_first=None, state=None):
    batch, time = next(iter(obs.values())).shape[:2]
    is_first = torch.zeros(batch, time, dtype=torch.bool) if is_first is None else is_first
    return policy(obs, policy.initial_state(batch) if state is None else state, is_first)


def coordination(agents):
    actions, modalities = coordinated_actions(agents)
    groups = np.broadcast_to(modalities > 0, actions.shape[:2]).astype(int)
    return CoordinationSet(torch.from_numpy(actions), torch.from_numpy(groups))
