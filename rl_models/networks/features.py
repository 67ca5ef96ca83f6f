"""What every network returns. A head needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

State: TypeAlias = dict[str, Tensor]
"""Recurrent state, name -> [B, ...] ([B, N, ...] where each agent has its own); empty for networks without memory."""
UNVALUED = "unvalued"
"""Extra: [B, T, N] bool, agents in the game that were not computed, because they carry on while another one decides.
Their values mean nothing; a network that computes all agents, or has left nobody out, does not name it."""


@dataclass(frozen=True)
class Features:
    """Output of a network over a window of T steps.

    Attributes:
        features: [B, T, N, F] float32; [B, T, 1, F] where one mind thinks for all agents.
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
