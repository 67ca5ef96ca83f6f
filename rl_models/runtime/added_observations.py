"""Observations that a collector adds before agents act: noise of stochastic networks, texts and messages.

All of it is stored in the fragment, so all epochs use the same inputs, and a learner needs no texts and no world.
Random numbers come from the world's own stream.

Noise is for stochastic networks, such as those that draw the masks of EnDi, with separate draws for each agent. Without
noise a network takes the most probable choice.

Texts and messages come from the network's `Speech`. Each distinct text is stored once, beside the row numbers that
refer to it (`texts.py`). If the observations hold messages already, these are used.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rl_models.policy import TeamNetwork, all_deciding
from rl_models.team_world import Array, Chance

NOISE = "noise"
"""Observation key of the noise, [B, T, N, ...] float32, uniform in [0, 1]."""
NOISE_DRAW = 2**20
"""Draw number of the first noise; draws with smaller numbers sample the actions."""


def noise_shape(network: TeamNetwork, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Shape of one agent's noise at one step for observations name -> [B, N, ...]; None for a network without noise."""
    return network.noise_shape(obs) if draws_noise(network) else None  # type: ignore[attr-defined]


def draws_noise(network: TeamNetwork) -> bool:
    """Whether a network may draw noise."""
    return hasattr(type(network), "noise_shape")


def with_noise(
    network: TeamNetwork,
    chance: Chance,
    num_agents: int,
    obs: Mapping[str, Array],
    worlds: slice | NDArray[np.integer] = slice(None),
) -> dict[str, Array]:
    """Observations [K, N, ...] of these worlds with the noise that a network needs; unchanged if it needs none.

    `obs`, name -> [K, N, ...], are those of the K `worlds`, a slice or [K] int among those of `chance`.
    """
    shape = noise_shape(network, obs)
    if shape is None:
        return dict(obs)
    uniforms = chance.policy_uniforms(num_agents * math.prod(shape), NOISE_DRAW)[worlds]
    return {**obs, NOISE: uniforms.reshape(-1, num_agents, *shape).astype(np.float32)}


MESSAGES = "messages"
"""Observation key of the agents' messages, [B, T, N, L] int32 token ids, -1 after the end."""
MESSAGE_DRAW = 2**24
"""Draw number of the first word; draws with smaller numbers are those of actions and noise."""


class Speech(Protocol):
    """Writes the texts and messages of one collector, and stores the texts.

    Attributes:
        draws: L, number of uniforms that an agent needs for one message; 0 if it writes the most probable words.
        hears_another_world: whether agents receive the messages of another world of the same batch.
    """

    draws: int
    hears_another_world: bool

    def narrate(self, obs: dict[str, Tensor], uniforms: Tensor | None = None) -> dict[str, Tensor]:
        """Messages and rows of `tables` that are added to the observations, name -> [B, T, N, ...].

        `uniforms` [B, T, N, L] in [0, 1) are for messages that are drawn. With `decides` or `alive` [B, T, N] bool
        among the observations, messages that no deciding agent reads are not written.
        """

    def tables(self) -> dict[str, Array]:
        """The texts of each observation key's rows, key -> [D, L] int32."""

    def inputs(self) -> dict[str, Tensor]:
        """The same texts as a network reads them, `texts/KEY` -> [D, L] int32 on the CPU."""

    def keep(self, obs: dict[str, Array]) -> dict[str, Array]:
        """Drop all texts that do not occur in `obs` [B, N, ...]; the rows' new numbers, key -> [B, N, ...]."""


@runtime_checkable
class WritesMessages(Protocol):
    """A network whose agents read their observations as text, and may write messages."""

    num_agents: int

    def speech(self) -> Speech:
        """A new `Speech` without texts."""


def make_speech(network: TeamNetwork) -> Speech | None:
    """A new `Speech` of a network; None if the network reads observations as they are."""
    return network.speech() if isinstance(network, WritesMessages) else None


def with_final_messages(speech: Speech, obs: dict[str, Array], beside: dict[str, Array]) -> dict[str, Array]:
    """Final observations with messages from other worlds, name -> [K, N, ...]; unchanged if worlds receive none.

    `obs` [K, N, ...] are the final observations of K worlds, and `beside` [K, N, ...] the first ones of their next
    episodes. Their messages come from other worlds of the batch, so they are valid for the final observations too.
    """
    if not speech.hears_another_world:
        return obs
    return {MESSAGES: beside[MESSAGES]} | obs


def message_uniforms(
    speech: Speech, chance: Chance, num_agents: int, worlds: slice | NDArray[np.integer] = slice(None)
) -> Tensor:
    """Numbers [K, 1, N, L] in [0, 1) with which messages in these worlds are drawn, of a `speech` that draws words."""
    drawn = chance.policy_uniforms(num_agents * speech.draws, MESSAGE_DRAW)[worlds]
    return torch.from_numpy(drawn.reshape(-1, 1, num_agents, speech.draws))


def narrated(network: TeamNetwork, obs: dict[str, Tensor], chance: Chance | None = None) -> dict[str, Tensor]:
    """Observations [B, T, N, ...] with all texts and messages that a network reads.

    The result is name -> [B, T, N, ...], and `texts/KEY` -> [D, L]. Words are drawn from the worlds' `chance`, T = 1,
    where the network draws them, and are the most probable ones without it.
    """
    speech = make_speech(network)
    if speech is None:
        return obs
    is_drawn = speech.draws and MESSAGES not in obs
    uniforms = message_uniforms(speech, chance, network.num_agents) if is_drawn and chance is not None else None
    return obs | speech.narrate(all_deciding(obs), uniforms) | speech.inputs()
