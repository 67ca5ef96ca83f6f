"""Observations: symbols and their cells in the last few steps, without roles.

MESSENGER, section 3: the grid shows symbols, and an entity between two cells is in the upper left one. The authors'
planes [10, 10, layers] are nearly empty; here a step is a list of their content, from which a network can rebuild the
planes. The list is sorted, so the index of an entity is independent of its role.
"""

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.messenger.symbols import LAST_ENTITY, SIDE, WITH_MESSAGE, WITHOUT_MESSAGE

_SYMBOL_BITS = 5
_SYMBOL = np.uint16(2**_SYMBOL_BITS - 1)
_LAST_CELL = SIDE * SIDE - 1


class Observer:
    """Computes observations of E entities and N avatars in the last F steps.

    One step is stored as [B, E + N] uint16: cell and symbol in one number, 0 for removed ones.
    """

    def __init__(self, num_entities: int, num_agents: int, frames: int) -> None:
        """Declare the observations of E entities and N agents in F frames."""
        self._num_entities = num_entities
        self._own_first = (np.arange(num_agents)[:, None] + np.arange(num_agents)) % num_agents
        entities, avatars = (frames, num_entities), (frames, num_agents)
        self.spec = {
            "symbols": ArraySpec(
                entities, "uint8", 0, LAST_ENTITY, "entities by step, oldest first; 0: gone", ids=True
            ),
            "cells": ArraySpec(entities, "uint8", 0, _LAST_CELL, "their cells, row * 10 + column; 0 if gone", ids=True),
            "agent_symbols": ArraySpec(
                avatars, "uint8", 0, WITH_MESSAGE, "avatars by step, its own first; 0: dead", ids=True
            ),
            "agent_cells": ArraySpec(avatars, "uint8", 0, _LAST_CELL, "their cells; 0 if dead", ids=True),
        }

    def moment(self, state: Arrays, has_message: Array, rows: Array | slice = slice(None)) -> Array:
        """The present step of worlds `rows` [K] in stored form, [K, E + N] uint16; symbols show `has_message` [K, N].

        `state` is that of all worlds, name -> [B, ...].
        """
        entities = _packed(state["entity_places"][rows], state["entity_symbols"][rows], state["entity_here"][rows])
        symbols = np.where(has_message, np.uint16(WITH_MESSAGE), np.uint16(WITHOUT_MESSAGE))
        avatars = _packed(state["avatar_places"][rows], symbols, state["avatar_alive"][rows])
        entities.sort(axis=1)
        return np.concatenate([entities[:, ::-1], avatars], axis=1)

    def observe(self, moments: Array) -> Arrays:
        """Observations of all agents, [K, N, F, ...] as `spec` declares, from moments [K, F, E + N], oldest first."""
        cells, symbols = (moments >> _SYMBOL_BITS).astype(np.uint8), (moments & _SYMBOL).astype(np.uint8)
        observations = {}
        for name, seen in (("symbols", symbols), ("cells", cells)):
            entities, avatars = seen[:, None, :, : self._num_entities], seen[:, :, self._num_entities :]
            observations[name] = np.repeat(entities, len(self._own_first), axis=1)
            observations[f"agent_{name}"] = avatars[:, :, self._own_first].swapaxes(1, 2)
        return observations


def _packed(places: Array, symbols: Array, is_here: Array) -> Array:
    """Positions [K, n, 2] in half cells and symbols [K, n] as one number each, 0 where `is_here` is false."""
    cells = (places[..., 0] >> 1) * SIDE + (places[..., 1] >> 1)
    return (((cells << _SYMBOL_BITS) + symbols) * is_here).astype(np.uint16)
