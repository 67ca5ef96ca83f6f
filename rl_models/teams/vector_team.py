"""Ready-made teams whose observation is a vector: multilayer perceptrons, or CommNet (Sukhbaatar et al., 2016)."""

from collections.abc import Sequence

from rl_models.heads.mixture_heads import LayeredValueHead, LegalPolicyHead
from rl_models.networks.network_config import VectorConfig
from rl_models.networks.vector import VectorNetwork
from rl_models.policy import TeamPolicy, seeded


def vector_team(
    config: VectorConfig, num_agents: int, scale: Sequence[float], num_actions: int, rounds: int = 0, seed: int = 0
) -> TeamPolicy:
    """Build a team whose agents have separate policies and values with the same weights.

    `scale` [V] are largest values of the observation `vector`; only legal actions are drawn if the world says which
    are.
    """
    with seeded(seed):
        network = VectorNetwork(config, num_agents, scale, rounds)
        return TeamPolicy(network, LegalPolicyHead(network.features, num_actions), LayeredValueHead(network.features))
