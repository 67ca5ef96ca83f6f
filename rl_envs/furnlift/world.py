"""FurnLift (A Cordial Sync, Jain et al., ECCV 2020, sections 2 and 6.1; "constrained" of Two Body Problem, CVPR 2019).

Two agents look for a television on the floor of a living room and pick it up. They must do so at the same moment, both
must see it, and they must stand at least 2 m apart. They walk through each other and do not see each other, as in the
authors' configuration. Which cells the television closes and who sees it are our own rules (`sight.py`).

| | |
|---|---|
| agents | `agent_0`, `agent_1`, acting in this order within a step |
| actions | 5: MoveAhead, RotateLeft, RotateRight, Pass, Pickup |
| observation `view` | [2, 15, 15] uint8, 0 or 1: floor and television in a crop of the room whose heading is up, the agent in the middle of the bottom row (that of A Cordial Sync's gridworld FurnMove, section 6.1); [6, 15, 15] with `agents_visible`, and the four headings of the other agent; with `observations` including `view` |
| observation `frame` | [P, P, 3] uint8, what the agent's camera sees, P being `frame_pixels`; with `observations` including `frame` |
| observation `coordination` | [] uint8, always 0: row of `tables["coordinated_actions"]`, the same for both agents |
| observation `expert` | [] int8, only with `shows_expert`: the action of the shortest-path expert, -1 where it has none |
| rewards | per agent. Joint pickup that succeeds: +1 and nothing else. Otherwise: -0.01 a step, -0.02 for a failed MoveAhead, -0.12 for a Pickup |
| episode end | terminated: the television is picked up. Truncated: `max_episode_steps` (250) is reached, so a learner bootstraps the value; with `bootstrap_at_limit=False` (the authors' form) the limit is a termination |
| arguments | `rooms` (train_stream; or a split, a room file, or a sequence of rooms, as in furnmove), `room_size` (full; or `laptop`), `max_episode_steps` (250), `min_separation_cells` (8, least Manhattan distance of the agents at a pickup; 0 is the unconstrained task), `agents_visible` (False; True: agents observe each other, "implicit communication"), `shows_expert` (False; True costs about 10 ms an episode), `heading_ring` (True; False: the expert's graph lacks the turn between north and west, as the authors' does), `bootstrap_at_limit` (True), `observations` (view; or `frame`, or both), `frame_pixels` (84, the paper's; or 42) |
| tables | `coordinated_actions` [1, 17, 2] int8 and `coordinated_modality` [17] int8: both pick up, or neither does |
| recorded draws | `sees_television` [B, 2] bool: who sees the television before the step, instead of our own rule |
| state for `restore` | `room` index, `agent_cells` [2, 2], `agent_headings` [2], `tv` [3] (row, column, rotation); optional: `closed_cells` [H, W] (by our own rule if left out), `start_distance`, the counters named as their metrics, `usable_pairs`, `expert`, `episode_length` |
| metrics | `success`, `final_distance` (metres, mean over agents), `md_spl`, `start_distance` (cells, mean over agents), `difficulty` (0 easy: at most 10 cells, 1 medium: at most 17, 2 hard), `failed_pickups` (actions), of these `failed_pickups_distance` and `failed_pickups_visibility`, `missed_pickups` (joint steps) |
| version history | v0: first version; rules and expert replay the authors' code without a mismatch |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.arguments import flags, steps, whole
from rl_envs.core.metrics import COUNT, PROPORTION, SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.furnlift.actions import ACTION_NAMES, MOVE_AHEAD, NUM_ACTIONS, PICKUP, ROTATE_LEFT, ROTATE_RIGHT
from rl_envs.furnlift.actions import coordinated_actions as all_coordinated_actions
from rl_envs.furnlift.expert import MAX_PAIRS, Expert
from rl_envs.furnlift.scene import NUM_UNIFORMS, draw_start, make_scene, scene_at
from rl_envs.furnlift.sight import BOX_CELLS, television_places
from rl_envs.furnmove.fixed_starts import check_poses
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.geometry import CELL_METRES, ROTATIONS, STEPS
from rl_envs.furnmove.observation import MARGIN, Observer
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.room_checks import RoomError
from rl_envs.furnmove.splits import bounds, resolve_rooms
from rl_envs.furnmove.start import TryLimits, draw_until_legal
from rl_envs.furnmove.world import seen_spec

if TYPE_CHECKING:
    from rl_envs.furnmove.frame_renderer import FrameRenderer

FLOOR, TELEVISION = np.uint8(1), np.uint8(2)
"""Bits of a cell of the map: an agent may be here; covered by the television."""
MAPS = (FLOOR, TELEVISION)
STEP_PENALTY, FAILURE_PENALTY, FAILED_PICKUP_PENALTY, PICKUP_REWARD = -0.01, -0.02, -0.1, 1.0
DIFFICULTIES = ("easy", "medium", "hard")
EASY_CELLS, MEDIUM_CELLS = 10, 17
"""Largest mean start distance of an easy and of a medium episode: thirds of the authors' test set."""

COUNTERS = ("failed_pickups", "failed_pickups_distance", "failed_pickups_visibility", "missed_pickups")
NO_ADVICE = -1
_TRIES = TryLimits(per_room=10, rooms=64)


class FurnLift(World):
    """B rooms in which two agents lift a television; the table above documents them."""

    story = module_story(__name__)
    agents = ("agent_0", "agent_1")
    action_spec = NUM_ACTIONS
    action_names = ACTION_NAMES
    colours = AGENT_COLOURS
    recorded_draws = ("sees_television",)
    metric_names = ("success", "final_distance", "md_spl", "start_distance", "difficulty", *COUNTERS)
    metric_ranges = MappingProxyType(
        dict.fromkeys(("final_distance", "start_distance", "difficulty", *COUNTERS), COUNT)
        | {"success": SHARE, "md_spl": PROPORTION}
    )

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        rooms: str | Sequence[Room] = "train_stream",
        room_size: str = "full",
        max_episode_steps: int = 250,
        min_separation_cells: int = 8,
        agents_visible: bool = False,
        shows_expert: bool = False,
        heading_ring: bool = True,
        bootstrap_at_limit: bool = True,
        observations: Sequence[str] = ("view",),
        frame_pixels: int = 84,
    ) -> None:
        """Build B worlds; the table above documents the arguments.

        Raises:
            ValueError: an argument out of range. RoomError: a room file that is not usable.
        """
        super().__init__(num_worlds, first_world)
        flags(agents_visible=agents_visible, shows_expert=shows_expert, heading_ring=heading_ring)
        flags(bootstrap_at_limit=bootstrap_at_limit)
        self.rooms = resolve_rooms(rooms, room_size)
        self.max_episode_steps = steps(max_episode_steps)
        self._separation = whole("min_separation_cells", min_separation_cells, 0)
        self._bootstrap_at_limit = bootstrap_at_limit
        self._shows_expert, self._heading_ring = shows_expert, heading_ring
        self._frame_pixels = whole("frame_pixels", frame_pixels)
        self.observation_spec = seen_spec(observations, len(MAPS) + 4 * agents_visible, self._frame_pixels)
        self._prepare_maps(agents_visible)

    def _prepare_maps(self, agents_visible: bool) -> None:
        self._height, self._width = bounds(self.rooms)
        padded_width = self._width + 2 * MARGIN
        self._maps = np.zeros((self.num_worlds, self._height + 2 * MARGIN, padded_width), np.uint8)
        self._seeing = np.zeros((self.num_worlds, self._height, self._width, 4), bool)
        self._experts: list[Expert | None] = [None] * self.num_worlds
        self._observer = Observer(
            padded_width, 2, self.num_worlds, leading=MAPS, trailing=(), shows_others=agents_visible
        )
        self._first_cells = np.arange(self.num_worlds) * self._maps[0].size + MARGIN * (padded_width + 1)
        self._renderer = self._make_renderer(agents_visible) if "frame" in self.observation_spec else None
        joint_actions, modalities = all_coordinated_actions()
        self.tables = {"coordinated_actions": joint_actions, "coordinated_modality": modalities}
        meaning = "row of the table of coordinated actions"
        self.observation_spec["coordination"] = ArraySpec((), "uint8", 0, 0, meaning)
        if self._shows_expert:
            meaning = "the expert's action, -1 where it has none"
            self.observation_spec["expert"] = ArraySpec((), "int8", NO_ADVICE, PICKUP, meaning)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        given = recorded.get("sees_television")  # who sees the television before the step, [B, 2]
        sees = self.sees_television() if given is None else np.asarray(given, bool)
        far, possible = self._can_pick_up(sees)
        picks = actions == PICKUP
        success = possible & picks.all(1)
        wrong = picks.sum(1) * ~success
        state["failed_pickups"] += wrong
        state["failed_pickups_distance"] += wrong * ~far
        state["failed_pickups_visibility"] += wrong * ~sees.all(1)
        state["missed_pickups"] += possible & ~success
        turn = (actions == ROTATE_RIGHT).astype(np.int8) - (actions == ROTATE_LEFT)
        state["agent_headings"] = (state["agent_headings"] + turn) % 4
        blocked = self._walk(actions == MOVE_AHEAD)
        reward = STEP_PENALTY + FAILURE_PENALTY * (blocked | picks) + FAILED_PICKUP_PENALTY * picks
        reward[success] = PICKUP_REWARD
        state["is_lifted"] |= success
        self._ask_experts(np.flatnonzero(~success))
        return reward, *self._endings(success, self._bootstrap_at_limit)

    def _walk(self, walks: Array) -> Array:
        """Move the agents of `walks` [B, 2] bool where the cell ahead is open; returns who is blocked, [B, 2] bool."""
        cells = self.state["agent_cells"]
        target = cells + STEPS[self.state["agent_headings"]]
        worlds = np.arange(self.num_worlds)[:, None]
        codes = self._maps[worlds, target[..., 0] + MARGIN, target[..., 1] + MARGIN]
        moves = walks & (codes & FLOOR != 0)
        self.state["agent_cells"] = np.where(moves[..., None], target, cells)
        return walks & ~moves

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        return {"sees_television": ((self.num_worlds, self.num_agents), 0, 1)}

    def sees_television(self) -> Array:
        """Whether each agent sees the television now, [B, 2] bool."""
        cells, worlds = self.state["agent_cells"], np.arange(self.num_worlds)[:, None]
        return self._seeing[worlds, cells[..., 0], cells[..., 1], self.state["agent_headings"]]

    def _can_pick_up(self, sees: Array) -> tuple[Array, Array]:
        """[B] bool, the agents are far enough apart; [B] bool, the television can be picked up."""
        cells = self.state["agent_cells"]
        far = abs(cells[:, 0] - cells[:, 1]).sum(-1) >= self._separation
        return far, far & sees.all(1)

    def _ask_experts(self, rows: Array) -> None:
        """Write the experts' actions in the present states of `rows`."""
        if not self._shows_expert:
            return
        state, possible = self.state, self._can_pick_up(self.sees_television())[1]
        agents = np.concatenate([state["agent_cells"], state["agent_headings"][..., None]], axis=-1)
        for world in rows:
            expert = self._experts[world]
            assert expert is not None
            advice = expert.advise(agents[world], state["usable_pairs"][world], bool(possible[world]))
            state["expert"][world] = NO_ADVICE if advice is None else advice.actions

    def _blank_state(self, num_worlds: int) -> Arrays:
        counters = {name: np.zeros(num_worlds, np.int32) for name in COUNTERS}
        return super()._blank_state(num_worlds) | counters | {
            "room": np.zeros(num_worlds, np.int64),
            "agent_cells": np.zeros((num_worlds, 2, 2), np.int64),
            "agent_headings": np.zeros((num_worlds, 2), np.int8),
            "tv": np.zeros((num_worlds, 3), np.int64),
            "closed_cells": np.zeros((num_worlds, self._height, self._width), bool),
            "start_distance": np.zeros(num_worlds),
            "is_lifted": np.zeros(num_worlds, bool),
            "usable_pairs": np.zeros((num_worlds, MAX_PAIRS), bool),
            "expert": np.full((num_worlds, 2), NO_ADVICE, np.int8),
        }  # fmt: skip

    def _needed_state(self) -> set[str]:
        return {"room", "agent_cells", "agent_headings", "tv"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return {"room": (0, len(self.rooms) - 1), "agent_headings": (0, ROTATIONS - 1)}

    def _check_state(self, state: Arrays) -> None:
        check_poses(self.rooms, state)
        for world, (number, tv) in enumerate(zip(state["room"].tolist(), state["tv"], strict=True)):
            if not (television_places(self.rooms[number]) == tv).all(1).any():
                raise ValueError(f"restore: tv of world {world} must be on five cells of free floor, got {tv.tolist()}")

    def _begin(self, rows: Array) -> None:
        for world in rows:
            self._draw_start(int(world))
        self._derive(rows, frozenset())

    def _draw_start(self, world: int) -> None:
        """Draw rooms and starts until there is a pair of places for a pickup."""
        draw = functools.partial(draw_start, self.rooms, self._separation)
        index, start = draw_until_legal(self.chance, world, len(self.rooms), NUM_UNIFORMS, _TRIES, draw)
        if start is None:
            raise RoomError(
                f"no legal start in {_TRIES.rooms} rooms; the last was {self.rooms[index].name!r}: give rooms with a "
                f"free row of 5 cells and floor on both sides of it, {self._separation} cells apart"
            )
        self.state["room"][world] = index
        for name, value in start._asdict().items():
            self.state[name][world] = value

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        state = self.state
        for world in rows:
            self._load_scene(int(world), given)
        distance = self._distances(rows).mean(1)
        if "start_distance" not in given:
            state["start_distance"][rows] = distance
        if "expert" not in given:
            self._ask_experts(rows)

    def _load_scene(self, world: int, given: frozenset[str]) -> None:
        """Write the map of one world, its table of who sees the television, and its expert."""
        state, tv, index = self.state, self.state["tv"][world], int(self.state["room"][world])
        room = self.rooms[index]
        inside = (world, slice(room.height), slice(room.width))
        if "closed_cells" in given:
            scene = make_scene(room, tv, self._separation, state["closed_cells"][inside])
        else:
            scene = scene_at(room, tuple(tv.tolist()), self._separation)
            state["closed_cells"][inside] = scene.closed
        is_open = scene.is_floor & ~scene.closed
        self._maps[world] = 0
        self._maps[world, MARGIN : MARGIN + room.height, MARGIN : MARGIN + room.width] = is_open * FLOOR
        covered = BOX_CELLS[tv[2]] + tv[:2] + MARGIN
        self._maps[world, covered[:, 0], covered[:, 1]] |= TELEVISION
        self._seeing[world] = False
        self._seeing[inside] = scene.seeing
        if self._renderer is not None:
            self._renderer.load(world, room)
        if self._shows_expert:
            self._experts[world] = Expert(is_open, scene.pairs, self._heading_ring)
            if "usable_pairs" not in given:
                state["usable_pairs"][world] = np.arange(MAX_PAIRS) < len(scene.pairs)

    def _make_renderer(self, agents_visible: bool) -> FrameRenderer:
        from rl_envs.furnmove.frame_renderer import FrameRenderer  # only frames need Numba

        return FrameRenderer(self.num_worlds, self._height, self._width, self._frame_pixels, agents_visible)

    def _distances(self, rows: Array) -> Array:
        """[K, 2] int, Manhattan distance of each agent to the television's centre, in cells."""
        return abs(self.state["agent_cells"][rows] - self.state["tv"][rows, None, :2]).sum(-1)

    def _observe(self, rows: Array) -> Arrays:
        cells, headings = self.state["agent_cells"][rows], self.state["agent_headings"][rows]
        seen: Arrays = {}
        if "view" in self.observation_spec:
            seen["view"] = self._observer.observe(self._maps.reshape(-1), self._first_cells[rows], cells, headings)
        if self._renderer is not None:
            seen["frame"] = self._renderer.frames(rows, cells, headings, self.state["tv"][rows], tv_base=0.0)
        seen["coordination"] = np.zeros(headings.shape, np.uint8)
        return seen | ({"expert": self.state["expert"][rows].copy()} if self._shows_expert else {})

    def _episode_metrics(self, rows: Array) -> Arrays:
        state = self.state
        success, start = state["is_lifted"][rows].astype(np.float64), state["start_distance"][rows]
        return {
            "success": success,
            "final_distance": self._distances(rows).mean(1) * CELL_METRES,
            "md_spl": success * (start + 1e-4) / (np.maximum(start, state["episode_length"][rows]) + 1e-4),
            "start_distance": start.copy(),
            "difficulty": difficulty(start).astype(np.float64),
        } | {name: state[name][rows].astype(np.float64) for name in COUNTERS}

    def render(self, index: int = 0) -> Array:
        """Top-down image of world `index`, [H, W, 3] uint8."""
        from rl_envs.furnlift import render  # only rendering needs Pillow

        cells, headings, tv = (self.state[name][index] for name in ("agent_cells", "agent_headings", "tv"))
        room = self.rooms[int(self.state["room"][index])]
        return render.draw(room, cells, headings, tv, self.sees_television()[index])


def difficulty(start_distance: Array) -> Array:
    """Index into `DIFFICULTIES` of each episode, [...] int64, by its mean start distance in cells, [...]."""
    return np.searchsorted((EASY_CELLS, MEDIUM_CELLS), start_distance, side="left")
