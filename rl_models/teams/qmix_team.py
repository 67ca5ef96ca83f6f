"""Ready-made QMIX teams (Rashid et al., ICML 2018), the language-free reference of EnDi (2023, section 5.3), and VDN.

An experiment's row is a team of `qmix_room_team`, the objective of `qmix_objective` and an optimiser such as
`PAPER_OPTIMISER`; nothing else differs from the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.networks.q_network import QNetwork
from rl_models.networks.qmix_encoders import GOAL, RoomConfig, RoomEncoder, RoomState, VectorEncoder, VectorState
from rl_models.networks.qmix_policy import QmixPolicy, StateMixer
from rl_models.networks.reading import Sizes
from rl_models.schedule import Schedule

PAPER_OPTIMISER = OptimiserSettings(
    kind="rmsprop", learning_rate=Schedule.constant(5e-4), epsilon=1e-5, betas=(0.9, 0.99), clip=10.0
)
"""The paper's, with the gradient norm of its released code."""


@dataclass(frozen=True)
class QmixConfig:
    """Widths of a team; the paper's by default."""

    room: RoomConfig = field(default_factory=RoomConfig)
    """How rooms are seen; of no meaning where observations are vectors."""
    hidden_size: int = 64
    """Of each agent's memory."""
    mixing_hidden_size: int = 32
    """Of the mixing network; 0 adds the agents' values up (VDN)."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Observation keys whose texts a team for rooms reads, for `Qmix(texts=...)`."""
        return (GOAL,) if self.room.sees_goal else ()


def qmix_room_team(
    config: QmixConfig, sizes: Sizes, room: tuple[int, int], actions: int, seed: int = 0, epsilon: float = 1.0
) -> QmixPolicy:
    """Build a team for RTFM that reads no document, with weights drawn from `seed`, leaving torch's generator alone.

    Args:
        config: what to build.
        sizes: agents, vocabulary and names of the world.
        room: (H, W), walls included, of the rooms that are trained in.
        actions: A.
        seed: of the initial weights.
        epsilon: of the first steps, where the objective's schedule begins.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = QNetwork(RoomEncoder(config.room, sizes, max(room)), sizes.num_agents, actions, config.hidden_size)
        mixer = None
        if config.mixing_hidden_size:
            state = RoomState(config.room, sizes, room[0] * room[1])
            mixer = StateMixer(state, sizes.num_agents, config.mixing_hidden_size)
        return QmixPolicy(network, mixer, epsilon)


def qmix_team(
    config: QmixConfig,
    key: str,
    features: int,
    num_agents: int,
    actions: int,
    seed: int = 0,
    epsilon: float = 1.0,
) -> QmixPolicy:
    """Build a team for observations that are vectors, with weights drawn from `seed`, leaving torch's generator alone.

    Args:
        config: what to build.
        key: of the observation.
        features: its width.
        num_agents: N.
        actions: A.
        seed: of the initial weights.
        epsilon: of the first steps, where the objective's schedule begins.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = QNetwork(VectorEncoder(key, features), num_agents, actions, config.hidden_size)
        mixer = None
        if config.mixing_hidden_size:
            mixer = StateMixer(VectorState(key, features, num_agents), num_agents, config.mixing_hidden_size)
        return QmixPolicy(network, mixer, epsilon)
