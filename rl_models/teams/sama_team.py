"""Ready-made teams that do what they are told in words: SAMA's policies. An experiment names one."""

from __future__ import annotations

from collections.abc import Callable

import torch

from rl_models.heads.towers import LegalPolicyTower, ValueTower
from rl_models.networks.sama import Sama, SamaNetworkConfig, SamaSizes
from rl_models.policy import TeamPolicy
from rl_models.text.encoder import SentenceEncoder


def sama_team(
    config: SamaNetworkConfig,
    sizes: SamaSizes,
    build_encoder: Callable[[], SentenceEncoder],
    seed: int = 0,
) -> TeamPolicy:
    """Build a team whose agents choose cells of the grid apart, with weights drawn from `seed`, and have one critic.

    Torch's global generator is not touched.

    Args:
        config: widths.
        sizes: of the world.
        build_encoder: builds the encoder of commands and manual.
        seed: of the initial weights.

    Raises:
        ValueError: a grid smaller than the last convolution's kernel.
    """
    if min(sizes.height, sizes.width) < 3:
        raise ValueError(f"the last convolution needs a grid of 3 x 3 at least, got {sizes.height} x {sizes.width}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Sama(config, sizes, build_encoder())
        actions = sizes.height * sizes.width
        return TeamPolicy(network, LegalPolicyTower(network.features, actions), ValueTower(network.features))
