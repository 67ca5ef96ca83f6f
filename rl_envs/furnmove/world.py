"""Gridworld-FurnMove (A Cordial Sync, Jain et al., ECCV 2020, sections 3 and 6.1, A.1 and A.3), for any N agents.

N agents hold a lifted television and carry it over a stand. The furniture moves only by coordinated joint actions. An
agent can walk around the TV but cannot let go of it.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, acting in this order within a step |
| actions | 13, `actions.ACTION_NAMES`: walk, turn, pass, move with the object, turn the object, move the object alone |
| observation `view` | [5 + 4 (N - 1), 15, 15] uint8, 0 or 1 (`observation.py`); with `observations` including `view` |
| observation `frame` | [P, P, 3] uint8, what the agent's camera sees (`frame_renderer.py`), P being `frame_pixels`; with `observations` including `frame` |
| observation `coordination` | [] uint8 (uint16 for six agents), row of `tables["coordinated_actions"]` that is the present S_t, the same for all agents |
| rewards | per agent: -0.01 a step, -0.02 if its action failed; for all agents: `closer_reward` when a joint action brings the TV closer to the stand than ever before in the episode |
| episode end | terminated: the TV is within one cell (Manhattan) of the stand's centre. Truncated: `max_episode_steps` (250) is reached, so a learner bootstraps the value; with `bootstrap_at_limit=False` (the authors' form) the limit is a termination |
| arguments | `num_agents` (2, or as in `starts`), `rooms` (train_stream; or a split, a room file, or a sequence of rooms), `room_size` (full), `starts` (None; instead of rooms: starts or their file; world w plays start (w + e) mod K in its episode e), `max_episode_steps` (250), `min_agent_distance_cells` (2), `closer_reward` (None: 1, or 2 from three agents on), `bootstrap_at_limit` (True), `observations` (view), `frame_pixels` (84; or 42) |
| tables | `coordinated_actions` [K, E, N] int8 and `coordinated_modality` [E] int8: the entries that are 1 in all K coordination matrices |
| recorded draws | none: only the start of an episode is random, and `restore` sets it |
| state for `restore` | `room` index, `agent_cells` [N, 2], `agent_headings` [N], `tv` and `stand` [3] (row, column, rotation); optional: `visited`, `best_distance`, `start_distance`, `episode_length` |
| metrics | `success`, `final_distance` (metres), `md_spl` (eq. 7), `start_distance` (cells) |
| version history | v0: first version; rules replay the authors' engine without a mismatch; `starts` and `observations` came later and change nothing without them |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.metrics import COUNT, PROPORTION, SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.story import module_story
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
from rl_envs.furnmove.fixed_starts import Starts
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.geometry import CELL_METRES, STEPS
from rl_envs.furnmove.maps import CompiledRooms, RoomMaps, can_hold
from rl_envs.furnmove.observation import VIEW, Observer, num_channels
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.room_checks import RoomError
from rl_envs.furnmove.splits import bounds, resolve_rooms
from rl_envs.furnmove.start import Start, TryLimits, draw_start, draw_until_legal, draws_needed
from rl_envs.furnmove.start_file import resolve_starts

if TYPE_CHECKING:
    from rl_envs.furnmove.frame_renderer import FrameRenderer

MAX_AGENTS = 6
STEP_PENALTY = -0.01
FAILURE_PENALTY = -0.02
_TRIES = TryLimits(per_room=64, rooms=16)


class FurnMove(World):
    """B rooms in which N agents carry a television; the table above documents them."""

    story = module_story(__name__)
    action_names = ACTION_NAMES
    colours = AGENT_COLOURS
    metric_names = ("success", "final_distance", "md_spl", "start_distance")
    metric_ranges = MappingProxyType(
        {"success": SHARE, "final_distance": COUNT, "md_spl": PROPORTION, "start_distance": COUNT}
    )

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        num_agents: int | None = None,
        rooms: str | Sequence[Room] | None = None,
        room_size: str = "full",
        starts: Starts | str | None = None,
        max_episode_steps: int = 250,
        min_agent_distance_cells: int = 2,
        closer_reward: float | None = None,
        bootstrap_at_limit: bool = True,
        observations: Sequence[str] = ("view",),
        frame_pixels: int = 84,
    ) -> None:
        """Prepare the worlds.

        Args:
            num_worlds: B.
            first_world: number of the first world in the run.
            num_agents: N, 1 to 6; for more agents the 4**(N-1) coordination matrices do not fit in memory. By default
                2, or the number of the starts.
            rooms: rooms of which each episode draws one: `train`, `valid` or `test` (named rooms), `train_stream`
                (4,096 rooms; the default), `valid_stream`, `test_stream`, `ithor_train`, `ithor_valid` or `ithor_test`
                (floors of iTHOR), the path of a room file, or `Room` objects.
            room_size: `full` (living rooms as large as AI2-THOR's) or `laptop` (9-12 cells a side); not for `starts`.
            starts: K starts or the path of a start file, instead of `rooms`. With any seed, world number w begins
                episode e since `reset` at start (w + e) mod K, so K worlds play each start once.
            max_episode_steps: time limit in joint steps.
            min_agent_distance_cells: an agent walking alone keeps this Chebyshev distance from the others.
            closer_reward: reward for a new shortest distance; by default 1, or 2 from three agents on, as the authors
                do.
            bootstrap_at_limit: whether the limit is a truncation (True) or a termination (the authors' form).
            observations: `view` (the gridworld's crop), `frame` (the camera's picture) or both. The rules are the same,
                and what is not asked for is not computed.
            frame_pixels: side of a frame, 84 (the paper's) or 42.

        Raises:
            ValueError: an argument out of range, an unknown observation, or both rooms and starts.
            RoomError: a room file that is not usable.
            StartError: starts that are not playable.
        """
        super().__init__(num_worlds, first_world)
        num_agents = self._resolve(starts, rooms, room_size, num_agents, min_agent_distance_cells)
        self.agents = tuple(f"agent_{i}" for i in range(num_agents))
        self.action_spec = NUM_ACTIONS
        self.max_episode_steps = max_episode_steps
        self._spacing = min_agent_distance_cells
        self._closer_reward = closer_reward if closer_reward is not None else (2.0 if num_agents > 2 else 1.0)
        self._bootstrap_at_limit = bootstrap_at_limit
        self._path = np.zeros((num_worlds, max_episode_steps + 1, 2), np.int16)
        check_observations(observations)
        self._observations, self._frame_pixels = tuple(observations), frame_pixels
        self._prepare_maps()

    def _resolve(
        self,
        starts: Starts | str | None,
        rooms: str | Sequence[Room] | None,
        room_size: str,
        num_agents: int | None,
        spacing: int,
    ) -> int:
        """Set the rooms and the starts, if there are any; returns N."""
        if starts is not None and rooms is not None:
            raise ValueError("rooms and starts are both given: starts bring their own rooms, so leave out `rooms`")
        self._starts = None if starts is None else resolve_starts(starts, num_agents, spacing)
        if self._starts is not None:
            num_agents, rooms = self._starts.num_agents, self._starts.rooms
        num_agents = 2 if num_agents is None else num_agents
        if not 1 <= num_agents <= MAX_AGENTS:
            raise ValueError(f"num_agents must be 1 to {MAX_AGENTS}, got {num_agents}")
        rooms = "train_stream" if rooms is None else rooms
        self.rooms = resolve_rooms(rooms, room_size) if isinstance(rooms, str) else rooms
        return num_agents

    def _prepare_maps(self) -> None:
        self._height, self._width = bounds(self.rooms)
        self._compiled = CompiledRooms(self.rooms, self._height, self._width)
        self._maps = RoomMaps(self.num_worlds, self._height, self._width)
        self._observer = Observer(self._maps.padded_width, self.num_agents)
        self._renderer = self._make_renderer() if "frame" in self._observations else None
        joint_actions, modalities = coordinated_actions(self.num_agents)
        self.tables = {"coordinated_actions": joint_actions, "coordinated_modality": modalities}
        view = (num_channels(self.num_agents), VIEW, VIEW)
        class_type = coordination_class(np.zeros(self.num_agents, np.int8)).dtype
        frame = (self._frame_pixels, self._frame_pixels, 3)
        shown = {
            "view": ArraySpec(view, "uint8", 0, 1, "egocentric crop of the room"),
            "frame": ArraySpec(frame, "uint8", 0, 255, "picture of the agent's camera: red, green, blue"),
        }
        self.observation_spec = {key: shown[key] for key in shown if key in self._observations} | {
            "coordination": ArraySpec((), str(class_type), 0, len(joint_actions) - 1, "row of the table that is S_t"),
        }

    def _make_renderer(self) -> FrameRenderer:
        from rl_envs.furnmove.frame_renderer import FrameRenderer  # only frames need Numba

        return FrameRenderer(self.num_worlds, self._height, self._width, self._frame_pixels)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        coordinated = is_coordinated(actions, state["agent_headings"])
        joint = coordinated & (MODALITY[actions[:, 0]] != NAVIGATE)
        failed = np.ones(actions.shape, bool)
        moved = self._act_together(actions, np.flatnonzero(joint))
        failed[moved] = False
        one_passes = (actions == PASS).any(1) if self.num_agents > 1 else coordinated
        self._act_alone(actions, np.flatnonzero(~joint & one_passes), failed)
        self._visit(np.flatnonzero(joint))

        distance = self._distance()
        closer = np.zeros(self.num_worlds, bool)
        closer[moved] = distance[moved] < state["best_distance"][moved]
        state["best_distance"] = np.where(closer, distance, state["best_distance"])
        reward = STEP_PENALTY + FAILURE_PENALTY * failed + self._closer_reward * closer[:, None]

        time = state["episode_length"] + 1
        self._path[np.arange(self.num_worlds), np.minimum(time, self.max_episode_steps)] = state["tv"][:, :2]
        success = state["best_distance"] <= 1
        return reward, *self._endings(success, self._bootstrap_at_limit)

    def _act_together(self, actions: Array, rows: Array) -> Array:
        """Try the joint action in `rows`; returns the rows in which it succeeded."""
        state = self.state
        modality = MODALITY[actions[rows, 0]]
        push = (DIRECTION[actions[rows, 0]] + state["agent_headings"][rows, 0]) % 4
        step = STEPS[push] * (modality != ROTATE_OBJECT)[:, None]
        tv = state["tv"][rows].astype(np.int64)
        tv[:, :2] += step
        tv[:, 2] = (tv[:, 2] + (modality == ROTATE_OBJECT)) % 4
        agents_move = modality == MOVE_WITH_OBJECT
        agents = state["agent_cells"][rows] + step[:, None] * agents_move[:, None, None]
        has_floor = self._maps.is_floor(rows[:, None], agents).all(1) | ~agents_move
        possible = self._maps.allows_tv(rows, tv) & can_hold(tv, agents).all(1) & has_floor
        done, tv, agents = rows[possible], tv[possible], agents[possible]
        self._maps.remove_tv(done, state["tv"][done])
        self._maps.put_tv(done, tv)
        state["tv"][done], state["agent_cells"][done] = tv, agents
        return done

    def _act_alone(self, actions: Array, rows: Array, failed: Array) -> None:
        """Agents of `rows` act one after another and see earlier moves; clears `failed` where an action succeeds."""
        state = self.state
        for agent in range(self.num_agents):
            action = actions[rows, agent]
            turn = (action == ROTATE_RIGHT).astype(np.int8) - (action == ROTATE_LEFT)
            state["agent_headings"][rows, agent] = (state["agent_headings"][rows, agent] + turn) % 4
            failed[rows[(action == PASS) | (turn != 0)], agent] = False
            walkers = rows[action == MOVE_AHEAD]
            failed[self._walk(walkers, agent), agent] = False

    def _walk(self, rows: Array, agent: int) -> Array:
        """Move one agent ahead where that is allowed; returns the rows in which it moved."""
        if not rows.size:
            return rows
        state = self.state
        heading = state["agent_headings"][rows, agent]
        target = state["agent_cells"][rows, agent] + STEPS[heading]
        distance = abs(state["agent_cells"][rows] - target[:, None]).max(-1)
        distance[:, agent] = self._spacing
        free = self._maps.is_floor(rows, target) & (distance >= self._spacing).all(1)
        free &= can_hold(state["tv"][rows], target[:, None])[:, 0]
        state["agent_cells"][rows[free], agent] = target[free]
        return rows[free]

    def _visit(self, rows: Array) -> None:
        """Mark the cell of the TV's centre as visited, after a joint action that succeeded or failed."""
        tv = self.state["tv"][rows]
        self._maps.visit(rows, tv)
        self.state["visited"][rows, tv[:, 0], tv[:, 1]] = True

    def _distance(self) -> Array:
        """[B] int16, Manhattan distance of TV and stand centres in cells."""
        return abs(self.state["tv"][:, :2] - self.state["stand"][:, :2]).sum(1).astype(np.int16)

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
        if self._starts is None:
            for world in rows:
                self._draw_start(int(world))
        else:
            self._begin_at_fixed(rows, self._starts)
        self._derive(rows, frozenset())

    def _begin_at_fixed(self, rows: Array, starts: Starts) -> None:
        """Begin at the fixed starts of these episodes; the clock selects them, so a snapshot needs no more state."""
        number = (self.first_world + rows + self.chance.episode[rows]) % len(starts)
        for name, values in starts.state(number).items():
            self.state[name][rows] = values

    def _draw_start(self, world: int) -> None:
        """Draw rooms and starts until a start is legal."""
        draws = draws_needed(self.num_agents)
        index, start = draw_until_legal(self.chance, world, len(self.rooms), draws, _TRIES, self._start_in)
        if start is None:
            raise RoomError(
                f"no legal start for {self.num_agents} agents in {_TRIES.rooms} rooms; the last was "
                f"{self.rooms[index].name!r}: give rooms with more free floor around the television"
            )
        self.state["room"][world] = index
        for name, value in start._asdict().items():
            self.state[name][world] = value

    def _start_in(self, index: int, uniforms: Array) -> Start | None:
        room = self._compiled[index]
        if not (len(room.tv_starts) and len(room.stand_places)):
            return None
        return draw_start(room, self._maps.padded_width, self.num_agents, self._spacing, uniforms)

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        state = self.state
        for world in rows:
            room = self._compiled[int(state["room"][world])]
            self._maps.load(int(world), room, state["stand"][world], state["visited"][world])
            if self._renderer is not None:
                self._renderer.load(int(world), self.rooms[int(state["room"][world])], state["stand"][world])
        self._maps.put_tv(rows, state["tv"][rows])
        distance = self._distance()[rows]
        for name in {"best_distance", "start_distance"} - given:
            state[name][rows] = distance
        self._path[rows] = state["tv"][rows, None, :2]

    def _observe(self, rows: Array) -> Arrays:
        state, headings = self.state, self.state["agent_headings"][rows]
        seen: Arrays = {}
        if "view" in self._observations:
            maps = self._maps.cells if len(rows) == self.num_worlds else self._maps.cells[rows]
            seen["view"] = self._observer.observe(maps, state["agent_cells"][rows], headings)
        if self._renderer is not None:
            seen["frame"] = self._renderer.frames(rows, state["agent_cells"][rows], headings, state["tv"][rows])
        number = coordination_class(headings)
        return seen | {"coordination": np.repeat(number[:, None], self.num_agents, axis=1)}

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
        """Top-down image of world `index` with the path of its TV, [H, W, 3] uint8."""
        from rl_envs.furnmove import render  # only rendering needs Pillow

        names = ("agent_cells", "agent_headings", "tv", "stand")
        path = self._path[index, : int(self.state["episode_length"][index]) + 1]
        room = self.rooms[int(self.state["room"][index])]
        return render.draw(room, *(self.state[name][index] for name in names), path=path)


def check_observations(observations: Sequence[str]) -> None:
    """Refuse observations that this world does not have."""
    if isinstance(observations, str) or not observations or not set(observations) <= {"view", "frame"}:
        raise ValueError(f"observations must be a tuple of 'view', 'frame' or both, got {observations!r}")
