"""Ready-made teams that see a small grid and share one network: self-play. An experiment names one."""

from __future__ import annotations

import torch

from rl_models.heads.joint_policy_head import ValueHead
from rl_models.heads.legal_policy import LegalPolicyHead
from rl_models.networks.grid_cnn import GridCnn, GridCnnConfig
from rl_models.policy import TeamPolicy


def grid_cnn_team(
    config: GridCnnConfig, num_agents: int, view: tuple[int, int, int], actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team whose agents act and value apart with the same weights, drawn from `seed`.

    Torch's global generator is not touched.

    Args:
        config: widths.
        num_agents: N.
        view: (C, H, W), one agent's observation `lossless`.
        actions: A; only legal ones are drawn where the world says which are.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = GridCnn(config, num_agents, view)
        return TeamPolicy(network, LegalPolicyHead(network.features, actions), ValueHead(network.features))
