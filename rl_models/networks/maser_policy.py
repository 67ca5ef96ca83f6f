"""Policy of MASER: QMIX's, and a representation of observations that only learning uses (`losses/maser.py`)."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from rl_models.losses.maser import REPRESENTATION, MaserConfig
from rl_models.networks.q_network import QValues
from rl_models.networks.qmix_policy import QmixPolicy, StateMixer
from rl_models.policy import Features, State


class MaserPolicy(QmixPolicy):
    """Acts as QMIX does; while gradients are enabled, its extras hold the representation of every observation."""

    def __init__(self, network: QValues, mixer: StateMixer | None, epsilon: float, config: MaserConfig) -> None:
        """Build the representation, two layers whose output has a number for each action.

        Args:
            network: Q network of the agents.
            mixer: mixer of their values; None for their sum.
            epsilon: epsilon of the first steps.
            config: width and form; in the released form the representation stays as it was drawn.
        """
        super().__init__(network, mixer, epsilon)
        width = config.representation_hidden_size
        self.representation = nn.Sequential(
            nn.Linear(network.encoder.features, width), nn.ReLU(), nn.Linear(width, network.features)
        ).requires_grad_(config.form == "paper")

    def _joint_values(
        self, features: Features, obs: dict[str, Tensor], state: State, is_first: Tensor
    ) -> dict[str, Tensor]:
        encoder = cast(QValues, self.network).encoder
        represented = self.representation(encoder(obs).detach())
        return super()._joint_values(features, obs, state, is_first) | {REPRESENTATION: represented}
