"""Ready-made teams that follow commands in words: the policies of SAMA (section 3.3)."""

from collections.abc import Callable

from rl_models.heads.mixture_heads import LegalPolicyTower, ValueTower
from rl_models.networks.network_config import SamaNetworkConfig
from rl_models.networks.sama import Sama, SamaSizes
from rl_models.policy import TeamPolicy, seeded
from rl_models.text.encoder import SentenceEncoder


def sama_team(
    config: SamaNetworkConfig, sizes: SamaSizes, build_encoder: Callable[[], SentenceEncoder], seed: int = 0
) -> TeamPolicy:
    """Build a team whose agents choose cells of the grid independently and share one critic."""
    if min(sizes.height, sizes.width) < 3:
        raise ValueError(f"the last convolution needs a grid of 3 x 3 at least, got {sizes.height} x {sizes.width}")
    with seeded(seed):
        network = Sama(config, sizes, build_encoder())
        head = LegalPolicyTower(network.features, sizes.height * sizes.width)
        return TeamPolicy(network, head, ValueTower(network.features))
