"""A custom network: every agent encodes its observation and exchanges messages with the others.

A network turns observations [B, T, N, ...] into features [B, T, N, F]; heads make a policy and values of these. So one
network serves SYNC, marginal policies and every algorithm. The same `forward` acts (T = 1) and learns (on fragments).
Its interface: `num_agents`, `initial_state(batch)` and `forward`. This one has no memory, so its state is
empty; a recurrent network returns its state after the last step and resets it where `is_first` is true.

All agents share the weights, and a learned vector tells them apart. Messages are part of the forward pass, so gradients
flow through them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from rl_models.heads.mixture_heads import MarginalHead, SyncHead, ValueHead
from rl_models.policy import Features, State, TeamPolicy, seeded


@dataclass(frozen=True)
class TalkingConfig:
    """Widths of the network; its fields become flags of an experiment that uses it."""

    hidden_size: PositiveInt = 32
    """Number of features of an agent."""
    message: PositiveInt = 8
    """Size of the message that an agent sends in each step."""


class TalkingNetwork(nn.Module):
    """Observations -> message -> features."""

    def __init__(self, config: TalkingConfig, num_agents: int, inputs: int) -> None:
        """Draw the initial weights.

        Args:
            config: widths.
            num_agents: N.
            inputs: numbers that an agent observes, all keys together.
        """
        super().__init__()
        self.num_agents = num_agents
        self.names = nn.Parameter(torch.randn(num_agents, config.hidden_size))
        self.read = nn.Linear(inputs, config.hidden_size)
        self.say = nn.Linear(config.hidden_size, config.message)
        self.hear = nn.Linear(config.hidden_size + config.message, config.hidden_size)

    def initial_state(self, batch: int) -> State:
        """Empty state."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features at T consecutive steps.

        Args:
            obs: name -> [B, T, N, ...].
            state: recurrent state before the first of them; empty here.
            is_first: [B, T] bool, an episode begins at this step.

        Returns:
            features [B, T, N, hidden] and messages [B, T, N, message].
        """
        seen = torch.cat([obs[key].float() for key in sorted(obs)], dim=-1)
        belief = torch.tanh(self.read(seen) + self.names)
        messages = torch.tanh(self.say(belief))
        heard = messages.sum(-2, keepdim=True) - messages  # sum of the others' messages
        return Features(torch.tanh(self.hear(torch.cat([belief, heard], dim=-1))), {}, messages=messages)


def talking_team(
    config: TalkingConfig, components: int, num_agents: int, inputs: int, actions: int, seed: int
) -> TeamPolicy:
    """The network with its heads; weights are drawn from `seed`.

    Args:
        config: widths.
        components: M, of SYNC's mixture; with 1, every agent samples its action independently (marginal).
        num_agents: N.
        inputs: numbers that an agent observes.
        actions: A.
        seed: of the initial weights.
    """
    with seeded(seed):
        network = TalkingNetwork(config, num_agents, inputs)
        head: nn.Module = MarginalHead(config.hidden_size, actions)
        if components > 1:
            head = SyncHead(config.hidden_size, actions, components, num_agents, config.message)
        return TeamPolicy(network, head, ValueHead(config.hidden_size))
