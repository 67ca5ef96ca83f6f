"""The 13 actions of FurnMove, the rule of coordinated joint actions, and what a joint step changes.

A Cordial Sync, section 3 and appendix A.1: actions have four modalities, and only some joint actions (16 of 169 for two
agents, 46 of 2,197 for three) are coordinated. They depend only on the agents' headings relative to agent 0, so there
are 4**(N-1) coordination matrices. They are stored as lists of their entries that are 1; the A**N matrix is built only
for tests and figures.

Headings and rotations are quarter turns clockwise: 0 north (row - 1), 1 east (column + 1), 2 south, 3 west.
"""

import itertools
from typing import NamedTuple

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.spec import Array, Arrays
from rl_envs.furnmove.geometry import ROTATIONS, STEPS
from rl_envs.furnmove.maps import RoomMaps

ACTION_NAMES = (
    "MoveAhead",
    "RotateLeft",
    "RotateRight",
    "Pass",
    "MoveWithObjectAhead",
    "MoveWithObjectRight",
    "MoveWithObjectBack",
    "MoveWithObjectLeft",
    "RotateObjectRight",
    "MoveObjectAhead",
    "MoveObjectRight",
    "MoveObjectBack",
    "MoveObjectLeft",
)
NUM_ACTIONS = len(ACTION_NAMES)
MOVE_AHEAD, ROTATE_LEFT, ROTATE_RIGHT, PASS = range(4)
NAVIGATE, MOVE_WITH_OBJECT, ROTATE_OBJECT, MOVE_OBJECT = range(4)

MODALITY = np.array([0] * 4 + [1] * 4 + [2] + [3] * 4, np.int8)
"""[A] int8, modality of each action."""
DIRECTION = np.array([0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 1, 2, 3], np.int8)
"""[A] int8, clockwise quarter turns from the agent's heading to the direction of the push."""

_FIRST_PUSH = {MOVE_WITH_OBJECT: 4, MOVE_OBJECT: 9}
_ROTATE_OBJECT_ACTION = 8


NAVIGATION, CARRIES, PUSHES, TURN = 0, range(1, 5), range(5, 9), 9
"""What an agent means: navigate; move with the object, or the object alone, north, east, south or west; turn it."""
_FIRST_MEANING = {MOVE_WITH_OBJECT: CARRIES.start, MOVE_OBJECT: PUSHES.start}

MEANINGS = np.array(
    [
        _FIRST_MEANING[modality] + (direction + heading) % 4 if modality in _FIRST_MEANING else TURN * (modality > 0)
        for modality, direction in zip(MODALITY.tolist(), DIRECTION.tolist(), strict=True)
        for heading in range(4)
    ]
)
"""[A * 4] int64, meaning of action a of an agent with heading h, at 4 a + h."""
TV_MOVES = np.zeros((TURN + 1, 3), np.int64)
TV_MOVES[CARRIES, :2] = TV_MOVES[PUSHES, :2] = STEPS
TV_MOVES[TURN, 2] = 1
"""[10, 3] int64, change of the TV's row, column and rotation by a joint action of each meaning."""
AGENT_MOVES = np.zeros((TURN + 1, 2), np.int64)
AGENT_MOVES[CARRIES] = STEPS
"""[10, 2] int64, change of the agents' rows and columns by a joint action of each meaning."""
AGENT_TURNS = np.array([0, -1, 1] + [0] * 10, np.int8)
"""[A] int8, change of an agent's own heading by each action."""


def is_coordinated(actions: Array, headings: Array) -> Array:
    """Whether a joint action [..., N] is an entry of S_t (section 3, A.1) at headings [..., N], [...] bool."""
    return agree(MEANINGS[actions * 4 + headings], actions)


def agree(meanings: Array, actions: Array) -> Array:
    """Whether agents agree, [...] bool, by actions [..., N] and their meanings [..., N] (`MEANINGS`).

    All mean the same, and of several that navigate one passes.
    """
    together = (meanings == meanings[..., :1]).all(-1)
    if actions.shape[-1] == 1:
        return together
    return together & ((meanings[..., 0] != NAVIGATION) | (actions == PASS).any(-1))


def coordination_class(headings: Array, xp: ArrayLibrary = NUMPY) -> Array:
    """Number of the coordination matrix for these headings [..., N], 0 .. 4**(N-1) - 1.

    [...] uint8 (uint16 from six agents on, in NumPy alone): the headings relative to agent 0, read as digits in base 4.
    """
    others = headings.shape[-1] - 1
    dtype = xp.uint8 if others <= 4 else np.uint16
    number = xp.zeros(headings.shape[:-1], dtype=dtype)
    for other in range(others):
        relative = (headings[..., other + 1] - headings[..., 0]) % 4
        number += xp.astype(relative, dtype) * 4**other
    return number


def coordinated_actions(num_agents: int) -> tuple[Array, Array]:
    """Every coordinated joint action [K, E, N] int8 of every coordination class, and its modality [E] int8 in all.

    K = 4**(N-1) classes have E coordinated actions each: 16 for N = 2, 46 for N = 3.
    """
    waiting = [joint for joint in itertools.product(range(4), repeat=num_agents) if num_agents == 1 or PASS in joint]
    relative = np.array(list(itertools.product(range(4), repeat=num_agents - 1)), np.int64)[:, ::-1]
    headings = np.concatenate([np.zeros((len(relative), 1), np.int64), relative], axis=1)
    classes = np.empty((len(headings), len(waiting) + 9, num_agents), np.int8)
    classes[:, : len(waiting)] = np.array(waiting)
    classes[:, len(waiting)] = _ROTATE_OBJECT_ACTION
    pushes = (np.arange(4)[:, None] - headings[:, None, :]) % 4
    classes[:, -8:-4] = _FIRST_PUSH[MOVE_WITH_OBJECT] + pushes
    classes[:, -4:] = _FIRST_PUSH[MOVE_OBJECT] + pushes
    return classes, MODALITY[classes[0, :, 0]]


def coordination_matrix(headings: Array) -> Array:
    """The coordination matrix S_t at headings [..., N], [..., A, ..., A] bool; for tests and figures."""
    num_agents = headings.shape[-1]
    everything = np.stack(np.meshgrid(*[np.arange(NUM_ACTIONS)] * num_agents, indexing="ij"), axis=-1)
    shape = headings.shape[:-1] + (1,) * num_agents + (num_agents,)
    return is_coordinated(everything, headings.reshape(shape))


class Outcome(NamedTuple):
    """The result of a joint step."""

    moved: Array  # [B] bool, a joint action succeeded
    failed: Array  # [B, N] bool, the agent's action failed


class Rules:
    """The rules of B worlds, which they change at once and in place, with their maps (section 3).

    Agents move the TV together, or act alone one after another.
    """

    def __init__(self, maps: RoomMaps, num_worlds: int, spacing: int, xp: ArrayLibrary = NUMPY) -> None:
        """Move the tables to an array library; `spacing` is the least distance of an agent that walks, in cells."""
        self._xp, self._maps, self._spacing = xp, maps, spacing
        self._meanings, self._tv_moves, self._agent_moves = map(xp.asarray, (MEANINGS, TV_MOVES, AGENT_MOVES))
        self._agent_turns, self._steps = xp.asarray(AGENT_TURNS), xp.asarray(STEPS)
        self._worlds = xp.arange(num_worlds)

    def play(self, state: Arrays, slots: Array, actions: Array) -> Outcome:
        """Apply one joint step, actions [B, N], to all worlds, changing the state in place.

        `state` is name -> [B, ...], and `slots` [B] int64 are those of the rooms in the maps.
        """
        meanings = self._xp.take(self._meanings, actions * 4 + state["agent_headings"])
        coordinated = agree(meanings, actions)
        joint = coordinated & (meanings[:, 0] != NAVIGATION)
        moved = self._act_together(state, slots, meanings[:, 0], joint)
        failed = self._xp.zeros(actions.shape, dtype=bool)
        failed[...] = ~moved[:, None]
        one_passes = (actions == PASS).any(1) if actions.shape[1] > 1 else coordinated
        self._act_alone(state, actions, ~joint & one_passes, failed)
        return Outcome(moved, failed)

    def _act_together(self, state: Arrays, slots: Array, meaning: Array, joint: Array) -> Array:
        """Try the joint action, whose meaning is [B], in worlds `joint` [B] bool; returns where it succeeded, [B]."""
        xp, maps = self._xp, self._maps
        moved, rows = xp.zeros_like(joint), xp.find_rows(joint)
        if rows is None:
            return moved
        is_tried, meaning = joint[rows], meaning[rows]
        before, cells = state["tv"][rows], state["agent_cells"][rows]
        tv = before + xp.take(self._tv_moves, meaning, 0)
        tv[:, 2] %= ROTATIONS
        agents = cells + xp.take(self._agent_moves, meaning, 0)[:, None]
        has_floor = maps.is_floor(rows, agents).all(1) | (meaning >= CARRIES.stop)
        possible = is_tried & has_floor & maps.allows_tv(slots[rows], tv) & maps.can_hold(tv, agents).all(1)
        moved[rows] = possible
        tv = xp.where(possible[:, None], tv, before)
        maps.move_tv(rows, before, tv, is_tried)
        state["tv"][rows] = tv
        state["agent_cells"][rows] = xp.where(possible[:, None, None], agents, cells)
        _, height, width = state["visited"].shape
        visited, squares = state["visited"].reshape(-1), self._worlds[rows] * (height * width) + tv[:, 0] * width
        visited[squares + tv[:, 1]] = visited.take(squares + tv[:, 1]) | is_tried  # also if the action failed
        return moved

    def _act_alone(self, state: Arrays, actions: Array, alone: Array, failed: Array) -> None:
        """Agents of worlds `alone` [B] bool act one after another and see earlier moves.

        It clears `failed` [B, N] where an action succeeds.
        """
        xp, rows, headings = self._xp, self._xp.find_rows(alone), state["agent_headings"]
        if rows is None:
            return
        acts, chosen = alone[rows][:, None], actions[rows]
        turn = xp.take(self._agent_turns, chosen) * acts
        headings[rows] = (headings[rows] + turn) % 4
        failed[rows] &= ~(acts & ((chosen == PASS) | (turn != 0)))
        for agent in range(actions.shape[1]):
            self._walk(state, alone & (actions[:, agent] == MOVE_AHEAD), agent, failed)

    def _walk(self, state: Arrays, walks: Array, agent: int, failed: Array) -> None:
        """Move one agent ahead in worlds `walks` [B] bool where that is allowed, and clear `failed` [B, N] there."""
        xp, maps, rows = self._xp, self._maps, self._xp.find_rows(walks)
        if rows is None:
            return
        cells = state["agent_cells"][rows]
        target = cells[:, agent] + xp.take(self._steps, state["agent_headings"][rows, agent], 0)
        apart = (abs(cells - target[:, None]) >= self._spacing).any(-1)
        apart[:, agent] = True
        free = walks[rows] & apart.all(1) & maps.is_floor(rows, target[:, None])[:, 0]
        free &= maps.can_hold(state["tv"][rows], target[:, None])[:, 0]
        state["agent_cells"][rows, agent] = xp.where(free[:, None], target, cells[:, agent])
        failed[rows, agent] &= ~free
