"""What agents read, and the messages that they write to each other, before any of them acts.

It stands between a world and a network that reads: whoever plays asks the network for a `Speech`, which turns what
agents see into messages and texts, and lays them over the observations. Messages and the rows of texts travel with the
fragment, and the texts' tokens beside them, each once (`texts.py`); so every epoch reads what was read, and a learner
knows neither words nor world. Uniforms, where words are drawn, come from the world's own stream. A world that brings
messages itself is heard instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from numpy.typing import NDArray
from torch import Tensor

from rl_models.networks.texts import TEXTS

Array = NDArray[Any]

MESSAGES = "messages"
"""Observation key: [B, T, N, L] int32, token ids of what each agent wrote, -1 behind the end."""
FIRST_DRAW = 2**24
"""Number of the first of these draws among those of a policy."""


class Speech(Protocol):
    """Of one player, whose texts it keeps.

    Attributes:
        draws: L, uniforms that an agent needs for one message; 0 if it writes what is likeliest.
        hears_another_world: what reaches the others is what was written in another world of the same batch.
    """

    draws: int
    hears_another_world: bool

    def narrate(self, obs: dict[str, Tensor], uniforms: Tensor | None = None) -> dict[str, Tensor]:
        """What is laid over observations [B, T, N, ...]: messages, and rows of `tables`.

        `uniforms` [B, T, N, L] are for messages that are drawn.
        """

    def tables(self) -> dict[str, Array]:
        """Observation key -> [D, L] int32, the texts that its rows point at."""

    def keep(self, obs: dict[str, Array]) -> dict[str, Array]:
        """Drop all texts that these observations do not show; their rows by their new numbers."""


@runtime_checkable
class Speaks(Protocol):
    """A network whose agents read what they see as text, and may write."""

    num_agents: int

    def speech(self) -> Speech:
        """A new one, without any texts."""


def speech_of(network: Any) -> Speech | None:
    """A new speech for whoever plays with a network; None if it reads observations as they are."""
    return network.speech() if isinstance(network, Speaks) else None


def with_messages_at_the_end(
    speech: Speech | None, obs: dict[str, Array], beside: dict[str, Array]
) -> dict[str, Array]:
    """Final observations with the messages that reach these worlds from others; as they are where none do.

    Args:
        speech: of the player.
        obs: what agents see when their episodes end, name -> [K, N, ...].
        beside: what the same worlds see next, with messages; those come from worlds that play on beside them.
    """
    if speech is None or not speech.hears_another_world:
        return obs
    return {MESSAGES: beside[MESSAGES]} | obs


def with_speech(
    speech: Speech | None,
    uniforms_of: Callable[[int, int], Array],
    obs: dict[str, Array],
    tensors: Callable[[dict[str, Array]], dict[str, Tensor]],
) -> dict[str, Array]:
    """Observations with what agents read and write; messages that are there stay.

    Args:
        speech: of the player.
        uniforms_of: how many numbers an agent needs, number of the first draw -> uniforms [B, 1, N, draws].
        obs: what agents see now, name -> [B, N, ...].
        tensors: makes tensors [B, 1, N, ...] of them, with the world's texts.
    """
    if speech is None:
        return obs
    is_drawn = speech.draws and MESSAGES not in obs
    uniforms = torch.from_numpy(uniforms_of(speech.draws, FIRST_DRAW)) if is_drawn else None
    return obs | {key: value[:, 0].cpu().numpy() for key, value in speech.narrate(tensors(obs), uniforms).items()}


def tables_of(speech: Speech | None) -> dict[str, Tensor]:
    """The tables of a speech as a network takes them beside observations; they stay on the CPU."""
    return {} if speech is None else {f"{TEXTS}{key}": torch.from_numpy(one) for key, one in speech.tables().items()}


def narrated(network: Any, obs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Observations [B, T, N, ...] with all that a network reads, where nobody keeps texts; nothing is drawn."""
    speech = speech_of(network)
    return obs if speech is None else obs | speech.narrate(obs) | tables_of(speech)
