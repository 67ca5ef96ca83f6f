"""TBONE: agents that see a grid, remember, and talk twice a step (A Cordial Sync, section 4.1 and appendix A.4).

All agents share the weights; a learned vector tells them apart. The belief after both rounds of talk replaces the
LSTM's output as the recurrent state, so the recurrence runs step by step; everything before it is computed for all
T steps at once. `agent_step` is the part of one agent that runs apart from the others. Input key: `view`.
Parameters with the paper's widths and SYNC's heads (m = 13, N = 2): 3,180,051.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.channel_embedding import ChannelEmbedding
from rl_models.layers.communication import CommunicationRound, Dialogue
from rl_models.layers.grid_convolutions import grid_convolutions, see_embedded, see_in_parts
from rl_models.layers.initialisation import glorot_
from rl_models.layers.recurrence import SteppedLstm
from rl_models.policy import Features, State


@dataclass(frozen=True)
class TboneConfig:
    """Widths of TBONE; the defaults are the paper's for SYNC."""

    cell_features: int = 8
    """Width of the embedding of a grid cell."""
    convolutions: tuple[int, int, int, int] = (32, 64, 128, 256)
    """Number of channels of the four convolutions; the paper's marginal policies widen the last to 288 to balance
    sizes."""
    agent_features: int = 8
    """Width of the vector that tells the agents apart."""
    hidden: int = 512
    """Width of belief and LSTM."""
    message_features: int = 16
    """Width of a message between agents."""
    communicates: bool = True
    """Whether agents hear the others; without it they hear themselves in their place (the paper's no-communication
    baseline)."""


class Tbone(nn.Module):
    """Grid -> convolutions -> LSTM -> talk -> reply, for N agents of one team."""

    observation_keys = ("view",)

    def __init__(self, config: TboneConfig, num_agents: int, view: tuple[int, int, int]) -> None:
        """Build the network.

        Args:
            config: widths.
            num_agents: N.
            view: (C, 15, 15), one agent's observation.
        """
        super().__init__()
        self.num_agents = num_agents
        self.hidden = config.hidden
        self.features = config.hidden
        self.message_features = config.message_features
        self.embedding = ChannelEmbedding(view[0], config.cell_features)
        self.convolutions = grid_convolutions(config.cell_features, config.convolutions)
        self.agent_vectors = nn.Parameter(torch.rand(num_agents, config.agent_features))
        seen = config.convolutions[-1] + config.agent_features
        self.lstm = SteppedLstm(seen, config.hidden)
        rounds = [
            CommunicationRound(num_agents, config.hidden, config.message_features, config.communicates)
            for _ in range(2)
        ]
        self.talk, self.reply = rounds
        glorot_(self)
        for communication_round in rounds:
            communication_round.initialise_()

    def initial_state(self, batch: int) -> State:
        """Zero belief and memory, each [B, N, hidden]."""
        shape = (batch, self.num_agents, self.hidden)
        device = self.agent_vectors.device
        return {"belief": torch.zeros(shape, device=device), "memory": torch.zeros(shape, device=device)}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Run T steps.

        Args:
            obs: `view` [B, T, N, C, 15, 15] uint8.
            state: as `initial_state`, before the first step.
            is_first: [B, T] bool, an episode begins at this step: the state is cleared before it.

        Returns:
            features [B, T, N, hidden] and the messages of the reply round.
        """
        # Taken apart at once: the gradient of one index after another would fill an array of all T steps T times.
        gates = self._input_gates(obs["view"], self.agent_vectors).unbind(1)
        belief, memory = state["belief"], state["memory"]
        starts = is_first.any(0).tolist()
        beliefs, messages = [], []
        for step, an_episode_starts in enumerate(starts):
            if an_episode_starts:
                keep = (~is_first[:, step])[:, None, None]
                belief, memory = belief * keep, memory * keep
            belief, memory, message = self._step(gates[step], belief, memory)
            beliefs.append(belief)
            messages.append(message)
        state = {"belief": belief, "memory": memory}
        return Features(torch.stack(beliefs, 1), state, torch.stack(messages, 1))

    def agent_step(
        self, agent: int, obs: dict[str, Tensor], state: State, is_first: Tensor, needs_messages: bool
    ) -> Dialogue[Features]:
        """Run one step of one agent: what `forward` computes for it, from its own observation and from messages.

        Args:
            agent: which of the N it is.
            obs: its `view` [B, 1, 1, C, 15, 15] uint8.
            state: its own, each [B, 1, hidden].
            is_first: [B, 1] bool.
            needs_messages: ask for the replies of all even if agents hear only themselves.

        Returns:
            features [B, 1, 1, hidden] and all agents' replies [B, 1, N, message features].
        """
        gates = self._input_gates(obs["view"], self.agent_vectors[[agent]])[:, 0]
        keep = (~is_first)[..., None]
        belief, memory = self.lstm.step(gates, state["belief"] * keep, state["memory"] * keep)
        belief, _ = yield from self.talk.take_part(belief, agent, needs_messages=False)
        belief, messages = yield from self.reply.take_part(belief, agent, needs_messages)
        return Features(belief[:, None], {"belief": belief, "memory": memory}, messages[:, None])

    def _input_gates(self, view: Tensor, identities: Tensor) -> Tensor:
        """[B, T, N, 4 hidden], the part of the LSTM's gates that does not depend on its state."""
        batch, time, agents = view.shape[:3]
        seen = see_in_parts(self._see, view.flatten(0, 2)).view(batch, time, agents, -1)
        return self.lstm.input_gates(torch.cat([seen, identities.expand(batch, time, -1, -1)], dim=-1))

    def _see(self, frames: Tensor) -> Tensor:
        """[K, C, 15, 15] -> [K, features of the last convolution]."""
        return see_embedded(self.embedding, self.convolutions, frames)

    def _step(self, gates: Tensor, belief: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        belief, memory = self.lstm.step(gates, belief, memory)
        belief, _ = self.talk(belief)
        belief, message = self.reply(belief)
        return belief, memory, message
