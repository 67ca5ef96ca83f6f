"""A team's policy: one network, one head for the joint policy, one for the values.

`forward` is the only way from observations to a policy: acting calls it with T = 1 and training with whole
fragments, so both compute the same thing. This file knows no world and no algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from torch import Tensor, nn

from rl_models.distributions.joint_policy import JointPolicy

State: TypeAlias = dict[str, Tensor]
"""Recurrent state, name -> [B, ...] ([B, N, ...] where each agent has its own); empty for networks without memory."""
UNVALUED = "unvalued"
"""Extra: [B, T, N] bool, agents in the game that were not computed, because they carry on while another one decides.
Their values mean nothing; a network that computes all agents, or has left nobody out, does not name it."""


@dataclass(frozen=True)
class Features:
    """Output of a network over a window of T steps; a head needs nothing else.

    Attributes:
        features: [B, T, N, F] float32; [B, T, 1, F] where one network acts for all agents.
        state: recurrent state after the last step.
        messages: [B, T, N, message features], the last thing each agent said, where agents talk.
        extras: anything worth showing (attention maps, masks), name -> [B, T, ...].
        legal: [B, T, N, A] bool, actions that are possible at all, where the world says so.
    """

    features: Tensor
    state: State
    messages: Tensor | None = None
    extras: dict[str, Tensor] = field(default_factory=dict)
    legal: Tensor | None = None


@dataclass(frozen=True)
class TeamOutput:
    """What a team's forward pass gives over a window of T steps.

    Attributes:
        policy: joint policy with batch shape [B, T].
        values: [B, T, N] float32.
        state: recurrent state after the last step.
        extras: anything worth showing, name -> [B, T, ...].
    """

    policy: JointPolicy
    values: Tensor
    state: State
    extras: dict[str, Tensor]


class TeamNetwork(Protocol):
    """What a network must offer to be part of a team."""

    num_agents: int

    def initial_state(self, batch: int) -> State:
        """State before the first step of an episode, name -> [B, ...]."""

    def __call__(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features over [B, T]."""


class TeamPolicy(nn.Module):
    """Network, policy head and value head of a team of N agents."""

    def __init__(self, network: TeamNetwork, policy_head: nn.Module, value_head: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.policy_head = policy_head
        self.value_head = value_head
        self.num_agents = network.num_agents

    def initial_state(self, batch: int) -> State:
        """Recurrent state before an episode, name -> [B, ...], with agents on the second axis if each has its own."""
        return self.network.initial_state(batch)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """Joint policy and values at T consecutive steps.

        Args:
            obs: name -> [B, T, N, ...].
            state: recurrent state before the first of them.
            is_first: [B, T] bool, an episode begins at this step.
        """
        features = self.network(obs, state, is_first)
        return TeamOutput(self.policy_head(features), self.value_head(features), features.state, features.extras)
