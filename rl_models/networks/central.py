"""One mind that sees every agent's view and remembers for all of them (A Cordial Sync, section 4.2, appendix A.4).

There are no messages and nothing tells the agents apart but their order. As in the authors' code, two agents' views
go through the same convolutions one by one and are then put together; with any other number of agents the embedded
views are stacked as channels of one picture. Only the LSTM runs step by step. Input key: `view`. Parameters with the
paper's widths and the central heads: 2,986,732 for two agents, 3,644,421 for three.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.layers.channel_embedding import ChannelEmbedding
from rl_models.layers.grid_convolutions import grid_convolutions, see_embedded, see_in_parts
from rl_models.layers.initialisation import glorot_
from rl_models.layers.recurrence import SteppedLstm
from rl_models.networks.tbone import TboneConfig
from rl_models.policy import Features, State


class Central(nn.Module):
    """Grids of N agents -> convolutions -> LSTM -> features of the whole team."""

    def __init__(self, config: TboneConfig, num_agents: int, view: tuple[int, int, int]) -> None:
        """Build the network.

        Args:
            config: widths as TBONE's, so that both see and remember alike; those of agents' vectors and messages have
                no meaning here.
            num_agents: N.
            view: (C, 15, 15), one agent's observation.
        """
        super().__init__()
        self.num_agents = num_agents
        self.hidden = config.hidden_size
        self.features = config.hidden_size
        seen = config.channels[-1]
        sight = _SideBySide if num_agents == 2 else _Stacked
        self.sight = sight(config, num_agents, view[0])
        self.lstm = SteppedLstm(seen, config.hidden_size)
        self.update = _mlp(config.hidden_size, config.hidden_size, config.hidden_size)
        glorot_(self)

    def initial_state(self, batch: int) -> State:
        """Zero output and memory of the LSTM, each [B, hidden]."""
        zeros = self.lstm.weight_hh.new_zeros(batch, self.hidden)
        return {"output": zeros, "memory": zeros.clone()}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Run T steps.

        Args:
            obs: `view` [B, T, N, C, 15, 15] uint8.
            state: as `initial_state`, before the first step.
            is_first: [B, T] bool, an episode begins at this step: the state is cleared before it.

        Returns:
            features [B, T, 1, hidden]: one mind for all agents.
        """
        view = obs["view"]
        seen = see_in_parts(self.sight, view.flatten(0, 1)).unflatten(0, view.shape[:2])
        outputs, state = self._remember(self.lstm.input_gates(seen), state, is_first)
        return Features((outputs + self.update(outputs)).unsqueeze(2), state)

    def _remember(self, gates: Tensor, state: State, is_first: Tensor) -> tuple[Tensor, State]:
        """Gates [B, T, 4 hidden] -> the LSTM's outputs [B, T, hidden], and its state after the last step."""
        output, memory = state["output"], state["memory"]
        outputs = []
        # Taken apart at once: the gradient of one index after another would fill an array of all T steps T times.
        steps = gates.unbind(1)
        for step, an_episode_starts in enumerate(is_first.any(0).tolist()):
            if an_episode_starts:
                keep = (~is_first[:, step])[:, None]
                output, memory = output * keep, memory * keep
            output, memory = self.lstm.step(steps[step], output, memory)
            outputs.append(output)
        return torch.stack(outputs, 1), {"output": output, "memory": memory}


class _SideBySide(nn.Module):
    """Every agent's view through the same convolutions, then one MLP over all of them."""

    def __init__(self, config: TboneConfig, num_agents: int, channels: int) -> None:
        super().__init__()
        seen = config.channels[-1]
        self.embedding = ChannelEmbedding(channels, config.cell_features)
        self.convolutions = grid_convolutions(config.cell_features, config.channels)
        self.together = _mlp(num_agents * seen, num_agents * seen, seen)

    def forward(self, views: Tensor) -> Tensor:
        """[K, N, C, 15, 15] -> [K, features of the last convolution]."""
        seen = see_embedded(self.embedding, self.convolutions, views.flatten(0, 1))
        together: Tensor = self.together(seen.view(len(views), -1))
        return together


class _Stacked(nn.Module):
    """All agents' embedded views as channels of one picture."""

    def __init__(self, config: TboneConfig, num_agents: int, channels: int) -> None:
        super().__init__()
        self.embedding = ChannelEmbedding(channels, config.cell_features)
        self.convolutions = grid_convolutions(num_agents * config.cell_features, config.channels)

    def forward(self, views: Tensor) -> Tensor:
        """[K, N, C, 15, 15] -> [K, features of the last convolution]."""
        cells = self.embedding(views.flatten(0, 1)).unflatten(0, views.shape[:2])
        # Kept in channels-last memory order, which the last convolution wants.
        picture = cells.permute(0, 3, 4, 1, 2).flatten(-2).movedim(-1, 1)
        seen: Tensor = self.convolutions(picture)
        return seen


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs), nn.ReLU())
