"""TBONE: agents with a grid view, an LSTM and two rounds of messages a step (A Cordial Sync, section 5).

All agents share the weights, and a learned vector distinguishes them. The belief after both rounds replaces the LSTM's
output as the recurrent state, so the recurrence runs step by step; everything before it is computed for all T steps at
once. `agent_step` computes the part of one agent that runs apart from the others. Input key: `view`. Parameters with
the paper's widths and SYNC's heads (M = 13, N = 2): 3,180,051.
"""

import torch
from torch import Tensor, nn

from rl_models.layers.communication import CommunicationRound, Dialogue
from rl_models.layers.grid_convolutions import ChannelEmbedding, apply_in_chunks, embed_and_convolve, grid_convolutions
from rl_models.layers.initialisation import glorot_
from rl_models.layers.recurrence import SteppedLstm
from rl_models.networks.network_config import TalkingConfig, TboneConfig
from rl_models.policy import Features, State, agents_alive, legal_actions, present_only
from rl_models.runtime.device import steps_with_starts


class TalkingAgents(nn.Module):
    """Encoded observation -> LSTM -> talk -> reply, for the N agents of a team; a subclass encodes observations."""

    def add_recurrence(self, config: TalkingConfig, num_agents: int, encoded: int) -> None:
        """Add what follows the encoder, and initialise all weights; `encoded` is the width of an observation."""
        self.num_agents = num_agents
        self.hidden_size = config.hidden_size
        self.features = config.hidden_size
        self.message_features = config.message_features
        self.agent_vectors = nn.Parameter(torch.rand(num_agents, config.agent_features))
        self.lstm = SteppedLstm(encoded + config.agent_features, config.hidden_size)
        rounds = [
            CommunicationRound(num_agents, config.hidden_size, config.message_features, config.communicates)
            for _ in range(2)
        ]
        self.talk, self.reply = rounds
        glorot_(self)
        for communication_round in rounds:
            communication_round.initialise_()

    def initial_state(self, batch: int) -> State:
        """Zero belief and memory, [B, N, hidden_size] float32 each."""
        shape = (batch, self.num_agents, self.hidden_size)
        device = self.agent_vectors.device
        return {"belief": torch.zeros(shape, device=device), "memory": torch.zeros(shape, device=device)}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, hidden_size] float32, and messages [B, T, N, message features] of the reply round.

        An agent that is not `alive` [B, T, N] bool has left the game: it sends zeros, and its features are zero.
        """
        # The gradient of `unbind` is one tensor; indexing each step would allocate a tensor of all T steps T times.
        gates = self._input_gates(obs, self.agent_vectors).unbind(1)
        belief, memory, alive = state["belief"], state["memory"], agents_alive(obs)
        beliefs, messages = [], []
        for step, episode_starts in enumerate(steps_with_starts(is_first)):
            if episode_starts:
                keep = (~is_first[:, step])[:, None, None]
                belief, memory = belief * keep, memory * keep
            here = None if alive is None else alive[:, step]
            belief, memory = self.lstm.step(gates[step], belief, memory)
            belief, _ = self.talk(belief, here)
            belief, message = self.reply(belief, here)
            beliefs.append(belief)
            messages.append(message)
        state = {"belief": belief, "memory": memory}
        features = present_only(torch.stack(beliefs, 1), obs)
        return Features(features, state, torch.stack(messages, 1), legal=legal_actions(obs))

    def agent_step(
        self, agent: int, obs: dict[str, Tensor], state: State, is_first: Tensor, needs_messages: bool
    ) -> Dialogue[Features]:
        """One step of one agent: the same result as `forward`, from its observation and the messages.

        See `teams.decentralised.SeparableNetwork`; returns features [B, 1, 1, hidden_size] and the replies of all
        agents, [B, 1, N, message features].
        """
        gates = self._input_gates(obs, self.agent_vectors[[agent]])[:, 0]
        keep = (~is_first)[..., None]
        belief, memory = self.lstm.step(gates, state["belief"] * keep, state["memory"] * keep)
        here = None if (alive := agents_alive(obs)) is None else alive[:, 0]
        belief, _ = yield from self.talk.forward_agent(belief, agent, needs_messages=False, alive=here)
        belief, messages = yield from self.reply.forward_agent(belief, agent, needs_messages, here)
        state = {"belief": belief, "memory": memory}
        features = present_only(belief[:, None], obs)
        return Features(features, state, messages[:, None], legal=legal_actions(obs))

    def _encoded(self, obs: dict[str, Tensor]) -> Tensor:
        """Encoded observations, [B, T, N, features] float32."""
        raise NotImplementedError

    def _input_gates(self, obs: dict[str, Tensor], identities: Tensor) -> Tensor:
        """[B, T, N, 4 * hidden_size], the part of the LSTM's gates that does not depend on its state."""
        encoded = self._encoded(obs)
        identities = identities.expand(*encoded.shape[:2], -1, -1)
        return self.lstm.input_gates(torch.cat([encoded, identities], dim=-1))


class Tbone(TalkingAgents):
    """View -> convolutions -> LSTM -> talk -> reply, for the N agents of a team."""

    observation_keys = ("view",)

    def __init__(self, config: TboneConfig, num_agents: int, view: tuple[int, int, int]) -> None:
        """Build the network for N agents with a view (C, 15, 15) each."""
        super().__init__()
        self.embedding = ChannelEmbedding(view[0], config.cell_features)
        self.convolutions = grid_convolutions(config.cell_features, config.channels)
        self.add_recurrence(config, num_agents, config.channels[-1])

    def _encoded(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, channels of the last convolution] of `view` [B, T, N, C, 15, 15] uint8."""
        view = obs["view"]
        return apply_in_chunks(self._encode, view.flatten(0, 2)).unflatten(0, view.shape[:3])

    def _encode(self, frames: Tensor) -> Tensor:
        """Views [K, C, 15, 15] -> features [K, channels of the last convolution]."""
        return embed_and_convolve(self.embedding, self.convolutions, frames)
