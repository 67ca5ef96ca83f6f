"""Networks that see through the agents' cameras: TBONE and the central network (A Cordial Sync, section 5, A.3).

After the encoder they are the networks of the gridworld. The authors' code has five convolutions for the task of moving
furniture (the paper says four) and four for lifting it. Input key: `frame`. Parameters with the authors' widths, two
agents and the heads of their methods: 3,422,619 with SYNC of 13 components, 3,440,702 with marginal policies (last
convolution 140), 3,360,116 central; for lifting 4,352,497 with SYNC of 2 components, 4,377,899 and 4,389,079.

In `FrameConvolutions` each layer is a convolution, a maximum over 2 x 2 pixels and a ReLU. The first layer reads raw
bytes: division by 255 and the usual mean and deviation of ImageNet are folded into its weights, and it pads with the
mean colour, which is what zero padding after the normalisation means. Frames arrive as [height, width, colours], which
is channels-last memory order, so they are never rearranged.
"""

import torch
from torch import Tensor, nn

from rl_models.layers.grid_convolutions import apply_in_chunks
from rl_models.networks.central import OneMemory
from rl_models.networks.network_config import FRAME_LAYERS, VisualConfig, pixels_left
from rl_models.networks.tbone import TalkingAgents

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_COLOURS, _MAX_BYTE = 3, 255.0


class FrameConvolutions(nn.Module):
    """Frames of bytes -> features: pixels that are left times channels of the last layer."""

    def __init__(self, channels: tuple[int, ...], pixels: int) -> None:
        """Build at most five layers with these output channels, for frames of P x P pixels."""
        super().__init__()
        shapes = FRAME_LAYERS[: len(channels)]
        left = pixels_left(len(channels), pixels)
        inputs = (_COLOURS, *channels[:-1])
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, size, padding=padding)
            for before, after, (size, padding) in zip(inputs, channels, shapes, strict=True)
        )
        for layer in self.convolutions:
            layer.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.pixels, self.features = pixels, left * left * channels[-1]
        self.mean = nn.Buffer(_MAX_BYTE * torch.tensor(_MEAN), persistent=False)
        self.deviation = nn.Buffer(_MAX_BYTE * torch.tensor(_DEVIATION), persistent=False)

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [K, P, P, 3] uint8 -> features [K, features] float32."""
        first, *others = self.convolutions
        assert isinstance(first, nn.Conv2d) and first.bias is not None
        weight = first.weight / self.deviation[:, None, None]
        bias = first.bias - (weight * self.mean[:, None, None]).sum((1, 2, 3))
        image = _max_pool(nn.functional.conv2d(self._padded(frames, FRAME_LAYERS[0][1]), weight, bias))
        for layer in others:
            image = _max_pool(layer(image))
        return image.permute(0, 2, 3, 1).flatten(1)

    def _padded(self, frames: Tensor, margin: int) -> Tensor:
        """[K, 3, P + 2 margin, P + 2 margin] float32 in channels-last memory order, the margin in the mean colour."""
        count, side = len(frames), self.pixels + 2 * margin
        image = self.mean.expand(count, side, side, _COLOURS).clone(memory_format=torch.contiguous_format)
        image[:, margin:-margin, margin:-margin] = frames
        return image.permute(0, 3, 1, 2)


def _max_pool(image: Tensor) -> Tensor:
    """Maximum over 2 x 2 pixels, then ReLU: [K, C, H, W] -> [K, C, H / 2, W / 2]."""
    return nn.functional.max_pool2d(image, 2).relu_()


_GAIN_LAYERS = 4
"""Convolutions of the central network whose weights start with the gain of a ReLU; the authors left the fifth out."""


class VisualTbone(TalkingAgents):
    """Frame -> convolutions -> LSTM -> talk -> reply, for the N agents of a team."""

    observation_keys = ("frame",)

    def __init__(self, config: VisualConfig, num_agents: int, frame: tuple[int, int, int]) -> None:
        """Build the network for N agents with a frame (P, P, 3) each."""
        super().__init__()
        self.eyes = FrameConvolutions(config.channels, frame[0])
        self.add_recurrence(config, num_agents, self.eyes.features)

    def _encoded(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, pixels left * channels of the last convolution] of `frame` [B, T, N, P, P, 3] uint8."""
        frame = obs["frame"]
        return apply_in_chunks(self.eyes, frame.flatten(0, 2)).unflatten(0, frame.shape[:3])


class VisualCentral(OneMemory):
    """Frames of N agents -> shared convolutions -> LSTM -> features of the team."""

    observation_keys = ("frame",)

    def __init__(self, config: VisualConfig, num_agents: int, frame: tuple[int, int, int]) -> None:
        """Build the network; arguments as for `VisualTbone`."""
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
