"""Network of the central policy: it reads every agent's view and has one memory (A Cordial Sync, section 5, A.3).

There are no messages, and only their order distinguishes the agents. As in the authors' code, the views of two agents
go through the same convolutions and are then concatenated; for any other number of agents the embedded views are
stacked as channels of one image. Only the LSTM runs step by step. Input key: `view`. Parameters with the paper's widths
and the central heads: 2,986,732 for two agents, 3,644,421 for three.
"""

import torch
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.grid_convolutions import ChannelEmbedding, apply_in_chunks, embed_and_convolve, grid_convolutions
from rl_models.layers.initialisation import glorot_
from rl_models.layers.recurrence import SteppedLstm
from rl_models.networks.network_config import TboneConfig
from rl_models.policy import Features, State
from rl_models.runtime.device import steps_with_starts


class OneMemory(nn.Module):
    """Encoder of all agents together (`sight`, which a subclass adds) -> LSTM -> features of the team."""

    observation_keys: tuple[str, ...]
    sight: nn.Module

    def add_recurrence(self, num_agents: int, visual_features: int, hidden_size: int) -> None:
        """Build everything after the encoder, which must be there already, and set all initial weights."""
        self.num_agents = num_agents
        self.hidden_size = hidden_size
        self.features = hidden_size
        self.lstm = SteppedLstm(visual_features, hidden_size)
        self.update = dense((hidden_size, hidden_size, hidden_size), nn.ReLU)
        glorot_(self)

    def initial_state(self, batch: int) -> State:
        """Zero output and memory of the LSTM, [B, hidden_size] float32 each."""
        zeros = self.lstm.weight_hh.new_zeros(batch, self.hidden_size)
        return {"output": zeros, "memory": zeros.clone()}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of the team, [B, T, 1, hidden_size] float32, from the encoder's observation [B, T, N, ...] uint8."""
        seen = obs[self.observation_keys[0]]
        visual = apply_in_chunks(self.sight, seen.flatten(0, 1)).unflatten(0, seen.shape[:2])
        # The gradient of `unbind` is one tensor; indexing each step would allocate a tensor of all T steps T times.
        gates = self.lstm.input_gates(visual).unbind(1)
        output, memory, steps = state["output"], state["memory"], []
        for step, episode_starts in enumerate(steps_with_starts(is_first)):
            if episode_starts:
                keep = (~is_first[:, step])[:, None]
                output, memory = output * keep, memory * keep
            output, memory = self.lstm.step(gates[step], output, memory)
            steps.append(output)
        outputs = torch.stack(steps, 1)
        features = (outputs + self.update(outputs)).unsqueeze(2)
        return Features(features, {"output": output, "memory": memory})


class Central(OneMemory):
    """Views of N agents -> convolutions -> LSTM -> features of the team."""

    observation_keys = ("view",)

    def __init__(self, config: TboneConfig, num_agents: int, view: tuple[int, int, int]) -> None:
        """Build the network for N agents, each with a view (C, 15, 15)."""
        super().__init__()
        self.sight = _Sight(config, num_agents, view[0])
        self.add_recurrence(num_agents, config.channels[-1], config.hidden_size)


class _Sight(nn.Module):
    """The same convolutions for the views of two agents, then an MLP over both; other teams' views are one image."""

    def __init__(self, config: TboneConfig, num_agents: int, channels: int) -> None:
        super().__init__()
        width, images = config.channels[-1], 1 if num_agents == 2 else num_agents
        self.embedding = ChannelEmbedding(channels, config.cell_features)
        self.convolutions = grid_convolutions(images * config.cell_features, config.channels)
        self.together = dense((2 * width, 2 * width, width), nn.ReLU) if num_agents == 2 else None

    def forward(self, views: Tensor) -> Tensor:
        """Views [K, N, C, 15, 15] -> features [K, channels of the last convolution]."""
        visual: Tensor
        if self.together is not None:
            visual = embed_and_convolve(self.embedding, self.convolutions, views.flatten(0, 1))
            visual = self.together(visual.view(len(views), -1))
            return visual
        cells = self.embedding(views.flatten(0, 1)).unflatten(0, views.shape[:2])
        # The last convolution needs channels-last memory order.
        visual = self.convolutions(cells.permute(0, 3, 4, 1, 2).flatten(-2).movedim(-1, 1))
        return visual
