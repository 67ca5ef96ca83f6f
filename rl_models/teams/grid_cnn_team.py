"""Ready-made teams with a convolutional network over a small grid, which all agents share (self-play)."""

from rl_models.heads.mixture_heads import LegalPolicyHead, ValueHead
from rl_models.networks.grid_cnn import GridCnn
from rl_models.networks.network_config import GridCnnConfig
from rl_models.policy import TeamPolicy, seeded


def grid_cnn_team(
    config: GridCnnConfig, num_agents: int, view: tuple[int, int, int], num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team whose agents have separate policies and values with the same weights.

    `view` is (C, H, W) of the observation `lossless`; only legal actions are drawn if the world says which are.
    """
    with seeded(seed):
        network = GridCnn(config, num_agents, view)
        return TeamPolicy(network, LegalPolicyHead(network.features, num_actions), ValueHead(network.features))
