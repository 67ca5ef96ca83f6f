"""The rules of a joint step (A Cordial Sync, section 3): agents move the TV together, or act alone one after another.

They change B worlds at once and in place.
"""

from typing import NamedTuple

from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.spec import Array, Arrays
from rl_envs.furnmove.actions import (
    AGENT_MOVES,
    AGENT_TURNS,
    CARRIES,
    MEANINGS,
    MOVE_AHEAD,
    NAVIGATION,
    PASS,
    TV_MOVES,
    agree,
)
from rl_envs.furnmove.geometry import ROTATIONS, STEPS
from rl_envs.furnmove.maps import RoomMaps


class Outcome(NamedTuple):
    """The result of a joint step."""

    moved: Array  # [B] bool, a joint action succeeded
    failed: Array  # [B, N] bool, the agent's action failed


class Rules:
    """The rules of B worlds, whose maps they keep up to date."""

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
