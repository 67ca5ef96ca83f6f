"""The start of an episode of FurnMove (A Cordial Sync, appendix A.3), by rejection sampling.

The TV is over a uniformly drawn floor cell in a uniformly drawn allowed rotation. The agents hold it from cells at
least two apart and face it along rows or columns, each with probability 1/2. The stand covers free floor. A draw that
is solved, or in which an agent or the stand does not fit, is repeated. Deviation from the authors: starts and goals
between which the TV can never be carried are not drawn.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from rl_envs.core.chance import Chance
from rl_envs.core.spec import Array, Arrays
from rl_envs.furnmove.geometry import HOLD_MASKS, HOLD_REACH, STAND
from rl_envs.furnmove.maps import CompiledRoom
from rl_envs.furnmove.observation import FLOOR, MARGIN

_HOLD_OFFSETS = [np.argwhere(mask) - HOLD_REACH for mask in HOLD_MASKS]


Drawn = TypeVar("Drawn")


class TryLimits(NamedTuple):
    """Limits of the rejection sampling of a start."""

    per_room: int  # number of starts to try in a room
    rooms: int  # number of rooms to try


class Start(NamedTuple):
    """Start of one episode: (row, column) cells of the unpadded room, headings and rotations in quarter turns."""

    agent_cells: Array  # [N, 2] int, row and column of each agent
    agent_headings: Array  # [N] int, heading of each agent
    tv: Array  # [3] int, row, column, rotation
    stand: Array  # [3] int, row, column, rotation


def packed_size(num_agents: int) -> int:
    """Number of integers W of a packed start."""
    return 7 + 3 * num_agents


def packed(room: int, start: Start) -> Array:
    """A start and the number of its room as [W] int64, for tables of starts."""
    return np.concatenate([[room], start.tv, start.stand, start.agent_headings, start.agent_cells.ravel()])


def unpacked(starts: Array, num_agents: int) -> Arrays:
    """State arrays of packed starts [K, W] in any array library: name -> [K, ...] int64."""
    return {
        "room": starts[:, 0],
        "tv": starts[:, 1:4],
        "stand": starts[:, 4:7],
        "agent_headings": starts[:, 7 : 7 + num_agents],
        "agent_cells": starts[:, 7 + num_agents :].reshape(-1, num_agents, 2),
    }


def draws_needed(num_agents: int) -> int:
    """Number of uniforms that one call of `draw_start` uses."""
    return 4 + 4 * num_agents


def draw_start(room: CompiledRoom, padded_width: int, num_agents: int, spacing: int, uniforms: Array) -> Start | None:
    """Try once to draw a legal, unsolved start with `uniforms` [4 + 4 N] float64 in [0, 1); None if there is none.

    `spacing` is the least Chebyshev distance between two agents, in cells.
    """
    tv = _pick_place(room.tv_starts, uniforms[0], uniforms[1])
    picks, order = uniforms[4 : 4 + 2 * num_agents].reshape(2, num_agents)
    coins = uniforms[4 + 2 * num_agents :].reshape(num_agents, 2)
    agents = _pick_agents(room, padded_width, tv, spacing, picks)
    if agents is None:
        return None
    agents = agents[np.argsort(order)]
    stand = _pick_stand(room.stand_places, agents, uniforms[2], uniforms[3])
    if stand is None or abs(tv[:2] - stand[:2]).sum() <= 1:
        return None
    return Start(agents, _face(tv[:2] - agents, coins), tv, stand)


def draw_until_legal(
    chance: Chance, world: int, num_rooms: int, draws: int, tries: TryLimits, draw: Callable[[int, Array], Drawn | None]
) -> tuple[int, Drawn | None]:
    """Draw a room and try starts in it, then the next room, until one is legal; the order of draws is fixed.

    `draw(room, uniforms [draws])` returns a start or None. Gives the number of the last room, and the start or None.
    """
    row, index = np.array([world]), 0
    for attempt in range(tries.per_room * tries.rooms):
        uniforms = chance.uniforms(draws + 1, row, attempt * (draws + 1))[0]
        if attempt % tries.per_room == 0:
            index = int(uniforms[0] * num_rooms)
        start = draw(index, uniforms[1:])
        if start is not None:
            return index, start
    return index, None


def _pick_rotation(bits: int, uniform: float) -> int:
    allowed = [rotation for rotation in range(4) if bits >> rotation & 1]
    return allowed[int(uniform * len(allowed))]


def _pick_place(places: Array, cell_uniform: float, rotation_uniform: float) -> Array:
    row, column, bits = places[int(cell_uniform * len(places))]
    return np.array([row, column, _pick_rotation(bits, rotation_uniform)])


def _pick_agents(room: CompiledRoom, padded_width: int, tv: Array, spacing: int, picks: Array) -> Array | None:
    """[N, 2] int, floor cells from which the TV can be held, each uniform among those far enough from earlier ones."""
    candidates = tv[:2] + _HOLD_OFFSETS[tv[2]]
    flat = (candidates[:, 0] + MARGIN) * padded_width + candidates[:, 1] + MARGIN
    candidates = candidates[(room.cells[flat] & FLOOR) != 0]
    chosen = []
    for uniform in picks:
        if not len(candidates):
            return None
        chosen.append(candidates[int(uniform * len(candidates))])
        candidates = candidates[abs(candidates - chosen[-1]).max(1) >= spacing]
    return np.array(chosen)


def _pick_stand(places: Array, agents: Array, cell_uniform: float, rotation_uniform: float) -> Array | None:
    """[3] int, a uniform cell, then a uniform rotation among those without an agent in its cells."""
    row, column, bits = places[int(cell_uniform * len(places))]
    away = agents - (row, column)
    for rotation in range(4):
        half = STAND[rotation].max(0)
        if (abs(away) <= half).all(1).any():
            bits &= ~(1 << rotation)
    return np.array([row, column, _pick_rotation(bits, rotation_uniform)]) if bits else None


def _face(towards_tv: Array, coins: Array) -> Array:
    """[N] int, headings that face the TV along rows or columns; a second coin decides where it is aligned."""
    along_rows = coins[:, 0] < 0.5
    distance = np.where(along_rows, towards_tv[:, 0], towards_tv[:, 1])
    positive = np.where(distance == 0, coins[:, 1] < 0.5, distance > 0)
    return np.where(along_rows, np.where(positive, 2, 0), np.where(positive, 1, 3))
