"""Policy of MASER: QMIX's, and a representation of observations that only learning uses (`losses/maser.py`)."""

from __future__ import annotations

from torch import Tensor, nn

from rl_models.networks.q_network import ENCODED, QValues
from rl_models.networks.qmix_policy import QmixPolicy, StateMixer
from rl_models.policy import Features, State

REPRESENTATION = "maser/representation"
"""Extra while gradients are enabled: f of each observation, [B, T, N, A] float32."""


class MaserPolicy(QmixPolicy):
    """Acts as QMIX does; while gradients are enabled, its extras hold the representation of every observation."""

    def __init__(
        self,
        network: QValues,
        mixer: StateMixer | None,
        epsilon: float,
        hidden_size: int = 128,
        is_trained: bool = True,
    ) -> None:
        """Build the representation, two layers whose output has a number for each action.

        Args:
            network: Q network of the agents.
            mixer: mixer of their values; None for their sum.
            epsilon: epsilon of the first steps.
            hidden_size: width of the representation's hidden layer.
            is_trained: whether the representation learns; in the released form it stays as it was drawn.
        """
        super().__init__(network, mixer, epsilon)
        self.representation = nn.Sequential(
            nn.Linear(network.encoder.features, hidden_size), nn.ReLU(), nn.Linear(hidden_size, network.features)
        ).requires_grad_(is_trained)

    def _joint_values(
        self, features: Features, obs: dict[str, Tensor], state: State, is_first: Tensor
    ) -> dict[str, Tensor]:
        represented = self.representation(features.extras[ENCODED].detach())
        return super()._joint_values(features, obs, state, is_first) | {REPRESENTATION: represented}
