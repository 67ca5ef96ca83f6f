"""Gridworld-FurnMove (A Cordial Sync, Jain et al., ECCV 2020, sections 3.2, 6.1 and appendix A.3), for any N agents.

N agents hold a lifted television and carry it over a stand. The furniture moves only by coordinated joint actions;
an agent can walk around the TV but never let go of it.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, acting in this order within a step |
| actions | 13, `actions.ACTION_NAMES`: move and turn oneself, pass, move with the object, turn it, move it alone |
| observation `view` | [5 + 4 (N - 1), 15, 15] uint8, 0 or 1 (`observation.py`) |
| observation `coordination` | [] uint8, row of `tables["coordinated_actions"]` that is S_t now, the same for all agents |
| rewards | each agent: -0.01 a step, -0.02 if its action failed; every agent: `closer_reward` when a joint action brings the TV closer to the stand than ever before in the episode |
| episode end | terminated: the TV has come within one cell (Manhattan) of the stand's centre. Truncated: `max_episode_steps` (250); it merely stops, so its value is bootstrapped, unless `bootstrap_at_limit=False` (the authors' form) reports the limit as terminated |
| arguments | `num_agents`, `rooms` (a named split, "train_stream", a room file, or a sequence of rooms), `room_size`, `max_episode_steps`, `min_agent_distance_cells`, `closer_reward`, `bootstrap_at_limit` |
| tables | `coordinated_actions` [K, E, N] int8 and `coordinated_modality` [E] int8: the ones of all K coordination matrices |
| state for `restore` | `room` index, `agent_cells` [N, 2], `agent_headings` [N], `tv` and `stand` [3] (row, column, rotation); optional: `visited`, `best_distance`, `start_distance`, `episode_length` |
| metrics | `success`, `final_distance` (metres), `md_spl` (eq. 7), `start_distance` (cells) |
| history | v0: first version; rules replay the authors' engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World
from rl_envs.furnmove.actions import (
    ACTION_NAMES,
    DIRECTION,
    MODALITY,
    MOVE_AHEAD,
    MOVE_WITH_OBJECT,
    NAVIGATE,
    NUM_ACTIONS,
    PASS,
    ROTATE_LEFT,
    ROTATE_OBJECT,
    ROTATE_RIGHT,
    coordinated_actions,
    coordination_class,
    is_coordinated,
)
from rl_envs.furnmove.compiled_room import CompiledRoom, compile_room
from rl_envs.furnmove.geometry import CELL_METRES, HOLD_MASKS, HOLD_REACH, STAND, STEPS, TV_BODY
from rl_envs.furnmove.observation import FLOOR, KNOWN, MARGIN, VIEW, VISITED, Viewer, num_channels
from rl_envs.furnmove.observation import STAND as STAND_BIT
from rl_envs.furnmove.observation import TV_BODY as TV_BIT
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import bounds, resolve_rooms
from rl_envs.furnmove.start import draw_start, draws_needed

STEP_PENALTY = -0.01
FAILURE_PENALTY = -0.02
_KEPT_ROOMS = 4096
_TRIES_PER_ROOM, _ROOMS_TO_TRY = 64, 16


class FurnMove(World):
    """B rooms in which N agents carry a television; see the table above."""

    action_names = ACTION_NAMES
    metric_names = ("success", "final_distance", "md_spl", "start_distance")

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        num_agents: int = 2,
        rooms: str | Sequence[Room] = "train_stream",
        room_size: str = "full",
        max_episode_steps: int = 250,
        min_agent_distance_cells: int = 2,
        closer_reward: float | None = None,
        bootstrap_at_limit: bool = True,
    ) -> None:
        """Prepare the worlds.

        Args:
            num_worlds: B.
            first_world: number of the first world in the run.
            num_agents: N, 1 to 4.
            rooms: rooms of which each episode draws one: `train`, `valid` or `test` (named rooms), `train_stream`
                (endless), `valid_stream`, `test_stream`, the path of a room file, or rooms.
            room_size: `full` (living rooms as large as AI2-THOR's) or `laptop` (9-12 cells a side).
            max_episode_steps: joint steps until the episode is stopped.
            min_agent_distance_cells: an agent walking alone keeps this Chebyshev distance from the others.
            closer_reward: for a new shortest distance; 1, or 2 from three agents on, as the authors have it.
            bootstrap_at_limit: whether the limit is a truncation (True) or a termination (the authors' form).

        Raises:
            ValueError: an argument out of range. RoomError: a room file that cannot be used.
        """
        super().__init__(num_worlds, first_world)
        if not 1 <= num_agents <= 4:
            raise ValueError(f"num_agents must be 1 to 4, got {num_agents}")
        self.agents = tuple(f"agent_{i}" for i in range(num_agents))
        self.action_spec = NUM_ACTIONS
        self.max_episode_steps = max_episode_steps
        self.rooms = resolve_rooms(rooms, room_size) if isinstance(rooms, str) else rooms
        self._height, self._width = bounds(self.rooms)
        self._padded_width = self._width + 2 * MARGIN
        self._num_cells = (self._height + 2 * MARGIN) * self._padded_width
        self._spacing = min_agent_distance_cells
        self._closer_reward = closer_reward if closer_reward is not None else (2.0 if num_agents > 2 else 1.0)
        self._limit_is_termination = not bootstrap_at_limit
        joint_actions, modalities = coordinated_actions(num_agents)
        self.tables = {"coordinated_actions": joint_actions, "coordinated_modality": modalities}
        view = (num_channels(num_agents), VIEW, VIEW)
        self.observation_spec = {
            "view": ArraySpec(view, "uint8", 0, 1, "egocentric crop of the room"),
            "coordination": ArraySpec((), "uint8", 0, len(joint_actions) - 1, "row of the table that is S_t"),
        }
        self._viewer = Viewer(self._padded_width, num_agents)
        self._compiled: OrderedDict[int, CompiledRoom] = OrderedDict()
        self._map = np.zeros((num_worlds, self._num_cells), np.uint8)
        self._tv_rotations = np.zeros((num_worlds, self._num_cells), np.uint8)
        self._first_cell = np.arange(num_worlds) * self._num_cells
        self._path = np.zeros((num_worlds, max_episode_steps + 1, 2), np.int16)

    # ------------------------------------------------------------- one step

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        coordinated = is_coordinated(actions, state["agent_headings"])
        joint = coordinated & (MODALITY[actions[:, 0]] != NAVIGATE)
        failed = np.ones(actions.shape, bool)
        moved = self._act_together(actions, np.flatnonzero(joint))
        failed[moved] = False
        somebody_passes = (actions == PASS).any(1) if self.num_agents > 1 else coordinated
        self._act_alone(actions, np.flatnonzero(~joint & somebody_passes), failed)
        self._mark_visited(np.flatnonzero(joint))

        distance = self._distance()
        closer = np.zeros(self.num_worlds, bool)
        closer[moved] = distance[moved] < state["best_distance"][moved]
        state["best_distance"] = np.where(closer, distance, state["best_distance"])
        reward = STEP_PENALTY + FAILURE_PENALTY * failed + self._closer_reward * closer[:, None]

        time = state["episode_length"] + 1
        self._path[np.arange(self.num_worlds), np.minimum(time, self.max_episode_steps)] = state["tv"][:, :2]
        success = state["best_distance"] <= 1
        stopped = (time >= self.max_episode_steps) & ~success
        if self._limit_is_termination:
            return reward, success | stopped, np.zeros_like(stopped)
        return reward, success, stopped

    def _act_together(self, actions: Array, rows: Array) -> Array:
        """Try the joint action in `rows`; all or nothing. Returns the rows in which it was carried out."""
        state = self.state
        modality = MODALITY[actions[rows, 0]]
        push = (DIRECTION[actions[rows, 0]] + state["agent_headings"][rows, 0]) % 4
        step = STEPS[push] * (modality != ROTATE_OBJECT)[:, None]
        tv = state["tv"][rows].astype(np.int64)
        tv[:, :2] += step
        tv[:, 2] = (tv[:, 2] + (modality == ROTATE_OBJECT)) % 4
        agents_move = modality == MOVE_WITH_OBJECT
        agents = state["agent_cells"][rows] + step[:, None] * agents_move[:, None, None]
        allowed = self._tv_rotations.reshape(-1)[self._flat(rows, tv[:, :2])] >> tv[:, 2] & 1
        floor = self._map.reshape(-1)[self._flat(rows[:, None], agents)] & FLOOR
        possible = (allowed != 0) & _holds(tv, agents).all(1) & ((floor != 0).all(1) | ~agents_move)
        done, tv, agents = rows[possible], tv[possible], agents[possible]
        self._draw_tv(done, is_there=False)
        state["tv"][done], state["agent_cells"][done] = tv, agents
        self._draw_tv(done, is_there=True)
        return done

    def _act_alone(self, actions: Array, rows: Array, failed: Array) -> None:
        """Agents of `rows` act one after another; later ones see where earlier ones went. Clears `failed`."""
        state = self.state
        for agent in range(self.num_agents):
            action = actions[rows, agent]
            turn = (action == ROTATE_RIGHT).astype(np.int8) - (action == ROTATE_LEFT)
            state["agent_headings"][rows, agent] = (state["agent_headings"][rows, agent] + turn) % 4
            failed[rows[(action == PASS) | (turn != 0)], agent] = False
            walkers = rows[action == MOVE_AHEAD]
            failed[self._walk(walkers, agent), agent] = False

    def _walk(self, rows: Array, agent: int) -> Array:
        """Move one agent ahead where it may go. Returns the rows in which it went."""
        if not rows.size:
            return rows
        state = self.state
        heading = state["agent_headings"][rows, agent]
        target = state["agent_cells"][rows, agent] + STEPS[heading]
        floor = self._map.reshape(-1)[self._flat(rows, target)] & FLOOR
        distance = abs(state["agent_cells"][rows] - target[:, None]).max(-1)
        distance[:, agent] = self._spacing
        free = (floor != 0) & (distance >= self._spacing).all(1) & _holds(state["tv"][rows], target[:, None])[:, 0]
        state["agent_cells"][rows[free], agent] = target[free]
        return rows[free]

    def _distance(self) -> Array:
        """[B] int16, Manhattan distance of TV and stand centres in cells."""
        return abs(self.state["tv"][:, :2] - self.state["stand"][:, :2]).sum(1).astype(np.int16)

    # --------------------------------------------------------------- the map

    def _flat(self, rows: Array, cells: Array) -> Array:
        """Index into the flattened maps of all worlds."""
        inside = (cells[..., 0] + MARGIN) * self._padded_width + cells[..., 1] + MARGIN
        return self._first_cell[rows] + inside

    def _draw_tv(self, rows: Array, is_there: bool) -> None:
        """Set or clear the TV's cells in the map; cells outside the room's masks are never drawn."""
        tv = self.state["tv"][rows]
        cells = self._flat(rows[:, None], tv[:, None, :2] + TV_BODY[tv[:, 2]])
        codes = self._map.reshape(-1)
        if is_there:
            codes[cells] |= ((codes[cells] & KNOWN) != 0) * TV_BIT
        else:
            codes[cells] &= ~TV_BIT

    def _mark_visited(self, rows: Array) -> None:
        cell = self._flat(rows, self.state["tv"][rows, :2])
        self._map.reshape(-1)[cell] |= VISITED
        tv = self.state["tv"][rows]
        self.state["visited"][rows, tv[:, 0], tv[:, 1]] = True

    def _load_map(self, world: int) -> None:
        """Rebuild the map of one world from its room and state."""
        room = self._room(int(self.state["room"][world]))
        codes = self._map[world]
        codes[:] = room.cells
        self._tv_rotations[world] = room.tv_rotations
        stand = self.state["stand"][world]
        cells = stand[:2] + STAND[stand[2]] + MARGIN
        flat = cells[:, 0] * self._padded_width + cells[:, 1]
        codes[flat] = codes[flat] & ~FLOOR | STAND_BIT
        visited = np.argwhere(self.state["visited"][world]) + MARGIN
        codes[visited[:, 0] * self._padded_width + visited[:, 1]] |= VISITED

    def _room(self, index: int) -> CompiledRoom:
        if index in self._compiled:
            self._compiled.move_to_end(index)
        else:
            self._compiled[index] = compile_room(self.rooms[index], self._height, self._width)
            if len(self._compiled) > _KEPT_ROOMS:
                self._compiled.popitem(last=False)
        return self._compiled[index]

    # ----------------------------------------------------- episodes and state

    def _blank_state(self, num_worlds: int) -> Arrays:
        agents = self.num_agents
        return super()._blank_state(num_worlds) | {
            "room": np.zeros(num_worlds, np.int64),
            "agent_cells": np.zeros((num_worlds, agents, 2), np.int64),
            "agent_headings": np.zeros((num_worlds, agents), np.int8),
            "tv": np.zeros((num_worlds, 3), np.int64),
            "stand": np.zeros((num_worlds, 3), np.int64),
            "visited": np.zeros((num_worlds, self._height, self._width), bool),
            "best_distance": np.zeros(num_worlds, np.int16),
            "start_distance": np.zeros(num_worlds, np.int16),
        }

    def _needed_state(self) -> set[str]:
        return {"room", "agent_cells", "agent_headings", "tv", "stand"}

    def _begin(self, rows: Array) -> None:
        for world in rows:
            self._place(int(world))
        self._derive(rows, frozenset())

    def _place(self, world: int) -> None:
        """Draw a room and a start until one is legal."""
        count = draws_needed(self.num_agents)
        row = np.array([world])
        for attempt in range(_TRIES_PER_ROOM * _ROOMS_TO_TRY):
            first_draw = attempt * (count + 1)
            uniforms = self.chance.uniforms(count + 1, row, first_draw)[0]
            if attempt % _TRIES_PER_ROOM == 0:
                index = int(uniforms[0] * len(self.rooms))
                room = self._room(index)
            if not (len(room.tv_starts) and len(room.stand_places)):
                continue
            start = draw_start(room, self._padded_width, self.num_agents, self._spacing, uniforms[1:])
            if start is not None:
                self.state["room"][world] = index
                for name, value in start._asdict().items():
                    self.state[name][world] = value
                return
        raise RuntimeError(
            f"no legal start for {self.num_agents} agents in {_ROOMS_TO_TRY} rooms; the last was "
            f"{self.rooms[index].name!r}: give rooms with more free floor around the television"
        )

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        for world in rows:
            self._load_map(int(world))
        self._draw_tv(rows, is_there=True)
        distance = self._distance()[rows]
        for name in {"best_distance", "start_distance"} - given:
            self.state[name][rows] = distance
        self._path[rows, 0] = self.state["tv"][rows, :2]

    def _observe(self, rows: Array) -> Arrays:
        headings = self.state["agent_headings"][rows]
        maps = self._map if len(rows) == self.num_worlds else self._map[rows]
        number = coordination_class(headings)
        return {
            "view": self._viewer.view(maps, self.state["agent_cells"][rows], headings),
            "coordination": np.repeat(number[:, None], self.num_agents, axis=1),
        }

    def _episode_metrics(self, rows: Array) -> Arrays:
        state = self.state
        success = state["best_distance"][rows] <= 1
        shortest = state["start_distance"][rows] + 1e-4
        taken = np.maximum(state["start_distance"][rows], state["episode_length"][rows]) + 1e-4
        return {
            "success": success.astype(np.float64),
            "final_distance": self._distance()[rows] * CELL_METRES,
            "md_spl": success * shortest / taken,
            "start_distance": state["start_distance"][rows].astype(np.float64),
        }

    def render(self, index: int = 0) -> Array:
        """Top-down picture of world `index` with the path of its TV, [H, W, 3] uint8."""
        from rl_envs.furnmove import render  # Pillow is needed for pictures alone

        names = ("agent_cells", "agent_headings", "tv", "stand")
        path = self._path[index, : int(self.state["episode_length"][index]) + 1]
        room = self.rooms[int(self.state["room"][index])]
        return render.draw(room, *(self.state[name][index] for name in names), path=path)


def _holds(tv: Array, agents: Array) -> Array:
    """Whether agents can hold a TV: tv [K, 3], agents [K, N, 2] -> [K, N] bool."""
    offset = agents - tv[:, None, :2]
    near = (abs(offset) <= HOLD_REACH).all(-1)
    offset = np.clip(offset, -HOLD_REACH, HOLD_REACH) + HOLD_REACH
    return near & HOLD_MASKS[tv[:, 2, None], offset[..., 0], offset[..., 1]]
