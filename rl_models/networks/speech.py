"""Messages that agents write to each other before any of them acts.

They are an observation like any other: whoever acts asks the network what its agents say about what they see, and lays
the answer over it, so that it travels with the fragment and every epoch reads what was read. Uniforms, where a network
draws its words, come from the world's own stream. A world that brings messages itself is heard instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]

MESSAGES = "messages"
"""Observation key: [B, T, N, L] int32, token ids of what each agent wrote, -1 behind the end."""
FIRST_DRAW = 2**24
"""Number of the first of these draws among those of a policy."""


@runtime_checkable
class Speaks(Protocol):
    """A network whose agents write."""

    num_agents: int

    @property
    def speech_draws(self) -> int:
        """L, uniforms that an agent needs for one message; 0 if it writes what is likeliest."""

    @property
    def hears_another_world(self) -> bool:
        """What reaches the others is what was written in another world of the same batch."""

    def speak(self, obs: dict[str, Tensor], uniforms: Tensor | None = None) -> Tensor:
        """Observations [B, T, N, ...] and perhaps uniforms [B, T, N, L] -> messages [B, T, N, L] int32."""


def with_messages_at_the_end(network: Any, obs: dict[str, Array], beside: dict[str, Array]) -> dict[str, Array]:
    """Final observations with the messages that reach these worlds from others; as they are where none do.

    Args:
        network: `Speaks`, or any other.
        obs: what agents see when their episodes end, name -> [K, N, ...].
        beside: what the same worlds see next, with messages; those come from worlds that play on beside them.
    """
    if not isinstance(network, Speaks) or not network.hears_another_world:
        return obs
    return {MESSAGES: beside[MESSAGES]} | obs


def with_messages(
    network: Any,
    uniforms_of: Callable[[int, int], Array],
    obs: dict[str, Array],
    tensors: Callable[[dict[str, Array]], dict[str, Tensor]],
) -> dict[str, Array]:
    """Observations with what agents tell each other before they act, if they do; messages that are there stay.

    Args:
        network: `Speaks`, or any other.
        uniforms_of: how many numbers a world needs, number of the first draw -> uniforms of these worlds, [B, draws].
        obs: what agents see now, name -> [B, N, ...].
        tensors: makes tensors [B, 1, N, ...] of them, with texts.
    """
    if not isinstance(network, Speaks) or MESSAGES in obs:
        return obs
    uniforms = None
    if network.speech_draws:
        drawn = uniforms_of(network.num_agents * network.speech_draws, FIRST_DRAW)
        uniforms = torch.from_numpy(drawn.reshape(len(drawn), 1, network.num_agents, network.speech_draws))
    return obs | {MESSAGES: network.speak(tensors(obs), uniforms)[:, 0].cpu().numpy()}
