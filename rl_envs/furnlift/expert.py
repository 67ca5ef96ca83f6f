"""The expert of FurnLift: shortest paths to a pair of places from which both agents can pick the television up.

A Cordial Sync (Jain et al., ECCV 2020), appendix A.3, and the authors' code. The expert looks at all pairs of target
states in their order, each in both assignments, and takes the smallest sum of path lengths, the first of equals. The
authors' graph lacks the turn between north and west, so that this turn takes three steps; `heading_ring` has it.

States are numbered (row * W + column) * 4 + heading.
"""

from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnlift.actions import MOVE_AHEAD, PASS, PICKUP, ROTATE_LEFT, ROTATE_RIGHT
from rl_envs.furnmove.geometry import ROTATIONS, STEPS
from rl_envs.furnmove.room import Mask

MAX_PAIRS = 41
"""Pairs of target states that are kept: the authors stop when they have more than 40."""

UNREACHABLE = 30_000
_WALKS = (MOVE_AHEAD, ROTATE_LEFT, ROTATE_RIGHT)


@dataclass(frozen=True)
class Advice:
    """Expert's advice in the present state of one world."""

    actions: tuple[int, int]  # [2] int, an action of each agent
    options: tuple[tuple[int, ...], tuple[int, ...]]  # the first actions of all shortest paths of each agent, ascending
    targets: Array | None  # [2, 3] int, row, column and heading to which each agent goes; None if both pick up


def target_pairs(targets: Array, tv: Array, min_separation_cells: int) -> Array:
    """Pairs of target states that are far enough apart, the nearest to the television first, [P, 2, 3] int64, P <= 41.

    `targets` [K, 3]: row, column and heading from which the television `tv` [3] (row, column, rotation) is seen.
    """
    distance = abs(targets[:, :2] - tv[:2]).sum(1)
    apart = abs(targets[:, None, :2] - targets[:, :2]).sum(-1)
    first, second = np.nonzero(np.triu(apart >= min_separation_cells, 1))
    nearest = np.argsort(distance[first] + distance[second], kind="stable")[:MAX_PAIRS]
    return np.stack([targets[first[nearest]], targets[second[nearest]]], axis=1)


class Expert:
    """Shortest paths of one episode: cells and pairs do not change within it."""

    def __init__(self, open_cells: Mask, pairs: Array, heading_ring: bool = True) -> None:
        """Compute the path lengths from every state to every target.

        `pairs` [P, 2, 3] are in the order of preference; without `heading_ring` north and west are no neighbours, as in
        the authors' graph.
        """
        self._pairs, self._width = np.asarray(pairs, np.int64).reshape(-1, 2, 3), open_cells.shape[1]
        self._next = _next_states(open_cells, heading_ring)
        targets, self._slots = np.unique(self._numbers(self._pairs), return_inverse=True)
        self._slots = self._slots.reshape(-1, 2)
        self._lengths = _path_lengths(self._next, targets)

    def advise(self, agents: Array, usable: Array, can_pick_up: bool) -> Advice | None:
        """Shortest-path advice for one world; None if no pair is left that both agents can reach.

        `agents` [2, 3]: row, column and heading. `usable` [P or more] bool: pairs to consider; a pair on which the
        agents stand and cannot pick up is removed from it, in place.
        """
        if can_pick_up:
            return Advice((PICKUP, PICKUP), ((PICKUP,), (PICKUP,)), None)
        here, usable = self._numbers(np.asarray(agents, np.int64)), usable[: len(self._pairs)]
        while usable.any():
            total = self._totals(here, usable)
            pair, order = np.divmod(int(total.argmin()), 2)
            if total.flat[2 * pair + order] >= UNREACHABLE:
                return None
            if total.flat[2 * pair + order] > 0:
                return self._towards(here, int(pair), int(order))
            usable[pair] = False
        return None

    def _totals(self, here: Array, usable: Array) -> Array:
        """[P, 2] int, summed path lengths of each pair in the given and in the other assignment."""
        lengths = self._lengths[:, here].astype(np.int64)
        given = lengths[self._slots[:, 0], 0] + lengths[self._slots[:, 1], 1]
        other = lengths[self._slots[:, 1], 0] + lengths[self._slots[:, 0], 1]
        return np.where(usable[:, None], np.stack([given, other], axis=1), UNREACHABLE)

    def _towards(self, here: Array, pair: int, order: int) -> Advice:
        which = (order, 1 - order)
        first, second = (
            self._first_actions(int(here[agent]), int(self._slots[pair, which[agent]])) for agent in range(2)
        )
        return Advice((first[0], second[0]), (first, second), self._pairs[pair, list(which)])

    def _first_actions(self, state: int, slot: int) -> tuple[int, ...]:
        left = self._lengths[slot, state]
        if left == 0:
            return (PASS,)
        after = self._lengths[slot, self._next[state]]
        return tuple(action for action, length in zip(_WALKS, after, strict=True) if length == left - 1)

    def _numbers(self, states: Array) -> Array:
        """Numbers of states [..., 3] -> [...] int64."""
        return (states[..., 0] * self._width + states[..., 1]) * ROTATIONS + states[..., 2]


def _next_states(open_cells: Mask, heading_ring: bool) -> Array:
    """[S + 1, 3] int64, states after MoveAhead, RotateLeft and RotateRight; S stands for none and leads to itself."""
    height, width = open_cells.shape
    row, column, heading = np.indices((height, width, ROTATIONS))
    ahead_row, ahead_column = row + STEPS[heading, 0], column + STEPS[heading, 1]
    framed = np.pad(open_cells, 1)
    number = np.arange(row.size).reshape(row.shape)
    turned = [number - heading + (heading + turn) % ROTATIONS for turn in (-1, 1)]
    after = np.stack([(ahead_row * width + ahead_column) * ROTATIONS + heading, *turned], axis=-1)
    exists = np.repeat(open_cells[:, :, None, None], ROTATIONS, axis=2).repeat(3, axis=3)
    exists[..., 0] &= framed[ahead_row + 1, ahead_column + 1]
    if not heading_ring:
        exists[:, :, 0, 1] = exists[:, :, ROTATIONS - 1, 2] = False
    none = np.full((1, 3), row.size)
    return np.concatenate([np.where(exists, after, row.size).reshape(-1, 3), none])


def _path_lengths(next_states: Array, targets: Array) -> Array:
    """[K, S + 1] int16, steps from every state to each target, or `UNREACHABLE`; breadth first from the targets."""
    before, size = _states_before(next_states), len(next_states)
    lengths = np.full((len(targets), size), UNREACHABLE, np.int16)
    flat, place = lengths.reshape(-1), np.zeros(lengths.size, np.int32)
    wave = np.arange(len(targets)) * size + targets
    steps = 0
    while wave.size:
        flat[wave] = steps
        state = wave % size
        around = ((wave - state)[:, None] + before[state]).reshape(-1)
        around = around[(flat[around] == UNREACHABLE) & (around % size != size - 1)]
        place[around] = np.arange(around.size)
        wave = around[place[around] == np.arange(around.size)]
        steps += 1
    return lengths


def _states_before(next_states: Array) -> Array:
    """[S + 1, 3] int64, from which states each action leads here; the last state stands for none."""
    none = len(next_states) - 1
    before = np.full_like(next_states, none)
    for action in range(next_states.shape[1]):
        source = np.flatnonzero(next_states[:-1, action] != none)
        before[next_states[source, action], action] = source
    return before
