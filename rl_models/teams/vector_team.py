"""Ready-made teams that see a vector of numbers: independent perceptrons, or CommNet. An experiment names one."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rl_models.heads.legal_policy import LayeredValueHead, LegalPolicyHead
from rl_models.networks.vector import VectorConfig, VectorNetwork
from rl_models.policy import TeamPolicy


def vector_team(
    config: VectorConfig, num_agents: int, scale: Sequence[float], actions: int, rounds: int = 0, seed: int = 0
) -> TeamPolicy:
    """Build a team whose agents act and value apart with the same weights, drawn from `seed`.

    Torch's global generator is not touched.

    Args:
        config: widths.
        num_agents: N.
        scale: [V], largest values of the observation `vector`.
        actions: A; only legal ones are drawn where the world says which are.
        rounds: of communication; 0: none.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = VectorNetwork(config, num_agents, scale, rounds)
        return TeamPolicy(network, LegalPolicyHead(network.features, actions), LayeredValueHead(network.features))
