"""Networks that see through the agents' cameras: TBONE and the central network (A Cordial Sync, section 4.1, A.4).

After the encoder they are the networks of the gridworld. The authors' code has five convolutions for the task of moving
furniture (the paper says four) and four for lifting it. Input key: `frame`. Parameters with the authors' widths, two
agents and the heads of their methods: 3,422,619 with SYNC of 13 components, 3,440,702 with marginal policies (last
convolution 140), 3,360,116 central; for lifting 4,352,497 with SYNC of 2 components, 4,377,899 and 4,389,079.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import PositiveInt
from torch import Tensor, nn

from rl_models.layers.frame_convolutions import FrameConvolutions
from rl_models.layers.grid_convolutions import apply_in_chunks
from rl_models.networks.central import OneMemory
from rl_models.networks.tbone import TalkingAgents, TboneConfig

_GAIN_LAYERS = 4
"""Convolutions of the central network whose weights start with the gain of a ReLU; the authors left the fifth out."""


@dataclass(frozen=True)
class VisualConfig:
    """Widths of the visual networks; the defaults are the authors' for SYNC and moving furniture."""

    channels: tuple[PositiveInt, ...] = (16, 16, 32, 64, 128)
    """Number of channels of the convolutions, at most five."""
    agent_features: PositiveInt = 8
    """Width of the vector that tells the agents apart."""
    hidden_size: PositiveInt = 512
    """Width of belief and LSTM."""
    message_features: PositiveInt = 16
    """Width of a message between agents."""
    communicates: bool = True
    """Whether agents hear the others; without it they hear themselves in their place."""
    team_features: PositiveInt = 512
    """Width of what the central network keeps of all agents' frames; no other network has it."""

    @property
    def after_encoder(self) -> TboneConfig:
        """Widths of what the gridworld's network has too."""
        return TboneConfig(
            agent_features=self.agent_features,
            hidden_size=self.hidden_size,
            message_features=self.message_features,
            communicates=self.communicates,
        )


class VisualTbone(TalkingAgents):
    """Frame -> convolutions -> LSTM -> talk -> reply, for the N agents of a team."""

    observation_keys = ("frame",)

    def __init__(self, config: VisualConfig, num_agents: int, frame: tuple[int, int, int]) -> None:
        """Build the network.

        Args:
            config: widths.
            num_agents: N.
            frame: (P, P, 3), shape of one agent's observation.

        Raises:
            ValueError: the convolutions leave nothing of such a frame.
        """
        super().__init__()
        self.eyes = FrameConvolutions(config.channels, frame[0])
        self.add_recurrence(config.after_encoder, num_agents, self.eyes.features)

    def _encoded(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, pixels left * channels of the last convolution] of `frame` [B, T, N, P, P, 3] uint8."""
        frame = obs["frame"]
        return apply_in_chunks(self.eyes, frame.flatten(0, 2)).unflatten(0, frame.shape[:3])


class VisualCentral(OneMemory):
    """Frames of N agents -> shared convolutions -> LSTM -> features of the team."""

    observation_keys = ("frame",)

    def __init__(self, config: VisualConfig, num_agents: int, frame: tuple[int, int, int]) -> None:
        """Build the network; arguments and errors as for `VisualTbone`."""
        super().__init__()
        self.sight = _FramesTogether(config, num_agents, frame[0])
        self.add_recurrence(num_agents, config.team_features, config.hidden_size)
        for layer in self.sight.eyes.convolutions[_GAIN_LAYERS:]:
            assert isinstance(layer, nn.Conv2d)
            nn.init.xavier_uniform_(layer.weight)


class _FramesTogether(nn.Module):
    """The same convolutions for every agent's frame, then one layer over all agents."""

    def __init__(self, config: VisualConfig, num_agents: int, pixels: int) -> None:
        super().__init__()
        self.eyes = FrameConvolutions(config.channels, pixels)
        self.together = nn.Linear(num_agents * self.eyes.features, config.team_features)

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [K, N, P, P, 3] uint8 -> features [K, team features]."""
        seen = self.eyes(frames.flatten(0, 1)).view(len(frames), -1)
        features: Tensor = self.together(seen)
        return features.relu()
