"""Gridworld-FurnMove (A Cordial Sync, Jain et al., ECCV 2020, sections 3 and 6.1, A.1 and A.3), for any N agents.

The agents hold a lifted television, and win if they carry it to the stand within the time limit. Furniture moves only
if all choose matching actions. An agent can walk around the television but cannot let go of it.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, acting in this order within a step |
| actions | 13, `actions.ACTION_NAMES`: walk, turn, pass, move with the object, turn the object, move the object alone |
| observation `view` | [5 + 4 (N - 1), 15, 15] uint8, 0 or 1 (`observation.py`); with `observations` including `view` |
| observation `frame` | [P, P, 3] uint8, what the agent's camera sees (`frame_renderer.py`), P being `frame_pixels`; with `observations` including `frame` |
| observation `coordination` | [] uint8 (uint16 for six agents), row of `tables["coordinated_actions"]` that is the present S_t, the same for all agents |
| rewards | per agent: -0.01 a step, -0.02 if its action failed; for all agents: `closer_reward` when a joint action brings the TV closer to the stand than ever before in the episode |
| episode end | terminated: the TV is within one cell (Manhattan) of the stand's centre. Truncated: `max_episode_steps` (250) is reached, so a learner bootstraps the value; with `bootstrap_at_limit=False` (the authors' form) the limit is a termination |
| arguments | `num_agents` (2, or as in `starts`; 1 to 6, for the 4^(N-1) coordination matrices of more do not fit into memory), `rooms` (train_stream, 4,096 rooms, of which each episode draws one; or `valid_stream`, `test_stream`, the named rooms `train`, `valid`, `test`, the floors of iTHOR `ithor_train`, `ithor_valid`, `ithor_test`, the path of a room file, or `Room` objects), `room_size` (full, as AI2-THOR's living rooms; or `laptop`, 9-12 cells a side; not for `starts`), `starts` (None; instead of rooms: starts or their file; world w plays start (w + e) mod K in its episode e, so that K worlds play each once), `max_episode_steps` (250), `min_agent_distance_cells` (2, Chebyshev, what an agent that walks alone keeps from the others), `closer_reward` (None: 1, or 2 from three agents on, as the authors do), `bootstrap_at_limit` (True), `observations` (view; or `frame`, or both: what is not asked for is not computed), `frame_pixels` (84, the paper's; or 42), `arrays` (numpy; or torch, which computes the same on its `device`, for at most 5 agents and 4,096 rooms and without frames), `device` (cpu; or cuda) |
| tables | `coordinated_actions` [K, E, N] int8 and `coordinated_modality` [E] int8: the entries that are 1 in all K coordination matrices |
| recorded draws | none: only the start of an episode is random, and `restore` sets it |
| state for `restore` | `room` index, `agent_cells` [N, 2], `agent_headings` [N], `tv` and `stand` [3] (row, column, rotation); optional: `visited`, `best_distance`, `start_distance`, `episode_length` |
| metrics | `success`, `final_distance` (metres), `md_spl` (eq. 7), `start_distance` (cells) |
| version history | v0: first version; rules replay the authors' engine without a mismatch; `starts`, `observations` and `arrays` came later and change nothing without them |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.arguments import finite, flags, steps, whole
from rl_envs.core.array_library import Rows, get_array_library
from rl_envs.core.chance import Chance
from rl_envs.core.errors import ArraysError
from rl_envs.core.metrics import COUNT, PROPORTION, SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.furnmove.actions import ACTION_NAMES, NUM_ACTIONS, Rules, coordinated_actions, coordination_class
from rl_envs.furnmove.fixed_starts import Starts, check_poses
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.geometry import CELL_METRES, ROTATIONS
from rl_envs.furnmove.maps import CompiledRoom, RoomMaps, compile_room
from rl_envs.furnmove.observation import VIEW, Observer, num_channels
from rl_envs.furnmove.prepared_starts import PreparedStarts
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.room_checks import RoomError
from rl_envs.furnmove.splits import bounds, resolve_rooms
from rl_envs.furnmove.start import Start, TryLimits, draw_start, draw_until_legal, draws_needed, packed, unpacked
from rl_envs.furnmove.start_file import resolve_starts

if TYPE_CHECKING:
    from rl_envs.furnmove.frame_renderer import FrameRenderer

MAX_AGENTS = 6
MAX_TORCH_AGENTS, MAX_TORCH_ROOMS = 5, 4096
"""Most agents, whose class of headings torch's uint8 holds, and most rooms, which all lie on the device."""
STEP_PENALTY = -0.01
FAILURE_PENALTY = -0.02
_TRIES = TryLimits(per_room=64, rooms=16)


class FurnMove(World):
    """B rooms in which N agents carry a television; the table above documents them."""

    story = module_story(__name__)
    action_names = ACTION_NAMES
    colours = AGENT_COLOURS
    array_libraries: tuple[str, ...] = ("numpy", "torch")
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
        arrays: str = "numpy",
        device: str = "cpu",
    ) -> None:
        """Build B worlds; the table above documents the arguments.

        Raises:
            ValueError: an argument out of range, an unknown observation, or both rooms and starts.
            RoomError, StartError: rooms or starts that are not playable.
        """
        super().__init__(num_worlds, first_world, get_array_library(arrays, device))
        flags(bootstrap_at_limit=bootstrap_at_limit)
        min_agent_distance_cells = whole("min_agent_distance_cells", min_agent_distance_cells, 0)
        num_agents = self._resolve(starts, rooms, room_size, num_agents, min_agent_distance_cells)
        self.agents = tuple(f"agent_{i}" for i in range(num_agents))
        self.action_spec = NUM_ACTIONS
        self.max_episode_steps = steps(max_episode_steps)
        self._spacing = min_agent_distance_cells
        if closer_reward is not None:
            finite(closer_reward=closer_reward)
        self._closer_reward = closer_reward if closer_reward is not None else (2.0 if num_agents > 2 else 1.0)
        self._bootstrap_at_limit = bootstrap_at_limit
        self._frame_pixels = whole("frame_pixels", frame_pixels)
        self.observation_spec = seen_spec(observations, num_channels(num_agents), self._frame_pixels)
        if self.xp.has_fixed_shapes:
            _check_for_torch(num_agents, len(self.rooms), observations)
        self._prepare_maps()
        self._prepare_starts()
        self._path = self.xp.zeros((num_worlds, self.max_episode_steps, 2), dtype=self.xp.int16)

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
        num_agents = 2 if num_agents is None else whole("num_agents", num_agents, 1, MAX_AGENTS)
        self.rooms = resolve_rooms("train_stream" if rooms is None else rooms, room_size)
        return num_agents

    def _prepare_maps(self) -> None:
        self._height, self._width = bounds(self.rooms)
        slots = len(self.rooms) if self.xp.has_fixed_shapes else self.num_worlds
        self._maps = RoomMaps(self.num_worlds, slots, self._height, self._width, self.xp)
        self._rules = Rules(self._maps, self.num_worlds, self._spacing, self.xp)
        self._observer = Observer(self._maps.padded_width, self.num_agents, self.num_worlds, self.xp)
        self._renderer = self._make_renderer() if "frame" in self.observation_spec else None
        joint_actions, modalities = coordinated_actions(self.num_agents)
        self.tables = {"coordinated_actions": joint_actions, "coordinated_modality": modalities}
        class_type, last = coordination_class(np.zeros(self.num_agents, np.int8)).dtype, len(joint_actions) - 1
        meaning = "row of the table that is S_t"
        self.observation_spec["coordination"] = ArraySpec((), str(class_type), 0, last, meaning)

    def _prepare_starts(self) -> None:
        xp = self.xp
        self._fixed: Array | None = None
        self._prepared: PreparedStarts | None = None
        self._loaded: set[int] = set()
        if self._starts is not None:
            self._fixed = xp.asarray(self._starts.packed())
            if xp.has_fixed_shapes:
                self._load_rooms(self._starts.room)
        elif xp.has_fixed_shapes:
            arguments = (self.num_worlds, self.num_agents, self.max_episode_steps, self._draw_start)
            self._prepared = PreparedStarts(*arguments, xp)

    def prepare(self, steps: int) -> None:
        """Draw the starts that the next env steps can take, and load their rooms; arguments as of `World`."""
        if self._prepared is not None:
            self._load_rooms(self._prepared.refill(self.chance, steps))

    def _make_renderer(self) -> FrameRenderer:
        from rl_envs.furnmove.frame_renderer import FrameRenderer  # only frames need Numba

        return FrameRenderer(self.num_worlds, self._height, self._width, self._frame_pixels)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state, xp = self.state, self.xp
        while self._prepared is not None and not self._prepared.has_step(self.chance):
            self._load_rooms(self._prepared.refill(self.chance))
        time = xp.astype(state["episode_length"], xp.int64).clip(0, self.max_episode_steps - 1)
        self._path[self._all_rows, time] = xp.astype(state["tv"][:, :2], xp.int16)
        moved, failed = self._rules.play(state, self._slots(slice(None)), actions)
        distance = self._distance()
        closer = moved & (distance < state["best_distance"])
        xp.copyto(state["best_distance"], distance, where=closer)
        reward = STEP_PENALTY + FAILURE_PENALTY * xp.astype(failed, xp.float64)
        reward += self._closer_reward * xp.astype(closer, xp.float64)[:, None]
        return reward, *self._endings(state["best_distance"] <= 1, self._bootstrap_at_limit)

    def _distance(self) -> Array:
        """[B] int16, Manhattan distance of TV and stand centres in cells."""
        away = abs(self.state["tv"][:, :2] - self.state["stand"][:, :2])
        return self.xp.astype(away[:, 0] + away[:, 1], self.xp.int16)

    def _blank_state(self, num_worlds: int) -> Arrays:
        xp, agents = self.xp, self.num_agents
        integers: Arrays = {"room": xp.zeros(num_worlds, dtype=xp.int64)}
        integers |= {name: xp.zeros((num_worlds, 3), dtype=xp.int64) for name in ("tv", "stand")}
        distances = ("best_distance", "start_distance")
        integers |= {name: xp.zeros(num_worlds, dtype=xp.int16) for name in distances}
        return super()._blank_state(num_worlds) | integers | {
            "agent_cells": xp.zeros((num_worlds, agents, 2), dtype=xp.int64),
            "agent_headings": xp.zeros((num_worlds, agents), dtype=xp.int8),
            "visited": xp.zeros((num_worlds, self._height, self._width), dtype=bool),
        }  # fmt: skip

    def _needed_state(self) -> set[str]:
        return {"room", "agent_cells", "agent_headings", "tv", "stand"}

    def _begin(self, rows: Array) -> None:
        state, kept = self.state, self._short(rows)
        if self._fixed is not None:
            # The clock selects them, so a snapshot needs no more state.
            number = (self.first_world + rows + self.chance.episode[kept]) % len(self._fixed)
            starts = self.xp.take(self._fixed, number, 0)
        elif self._prepared is not None:
            starts = self._prepared.take(kept, rows, self.chance.episode)
        else:
            starts = np.stack([self._draw_start(self.chance, int(world)) for world in rows])
        for name, values in unpacked(starts, self.num_agents).items():
            state[name][kept] = self.xp.astype(values, state[name].dtype)
        state["best_distance"][kept] = state["start_distance"][kept] = self._distance()[kept]

    def _start(self, rows: Array) -> None:
        if self._prepared is not None:
            self._load_rooms(self._prepared.refill(self.chance, is_anew=True))
        super()._start(rows)
        self._derive(rows, frozenset(self.state))

    def _draw_start(self, chance: Chance, world: int) -> Array:
        """Draw rooms and starts until a start is legal, which is returned packed."""
        draws = draws_needed(self.num_agents)
        index, start = draw_until_legal(chance, world, len(self.rooms), draws, _TRIES, self._start_in)
        if start is None:
            raise RoomError(
                f"no legal start for {self.num_agents} agents in {_TRIES.rooms} rooms; the last was "
                f"{self.rooms[index].name!r}: give rooms with more free floor around the television"
            )
        return packed(index, start)

    def _compiled(self, index: int) -> CompiledRoom:
        return compile_room(self.rooms[index], self._height, self._width)

    def _start_in(self, index: int, uniforms: Array) -> Start | None:
        room = self._compiled(index)
        if not (len(room.tv_starts) and len(room.stand_places)):
            return None
        return draw_start(room, self._maps.padded_width, self.num_agents, self._spacing, uniforms)

    def _load_rooms(self, rooms: Array, rows: Array | None = None) -> None:
        """Load the rooms [K] of worlds `rows` [K]; with fixed shapes, into slots of their own, those that are new."""
        if self.xp.has_fixed_shapes:
            rows = rooms = np.array(sorted(set(rooms.tolist()) - self._loaded), np.int64)
            self._loaded.update(rooms.tolist())
        if rows is not None and len(rooms):
            self._maps.load(rows, [self._compiled(room) for room in rooms.tolist()])

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        distances = dict.fromkeys(("best_distance", "start_distance"), (0, self._height + self._width))
        return distances | {"room": (0, len(self.rooms) - 1), "agent_headings": (0, ROTATIONS - 1)}

    def _check_state(self, state: Arrays) -> None:
        """Refuse impossible poses; with fixed shapes, load rooms, of which the host has the numbers only here."""
        check_poses(self.rooms, state)
        if self.xp.has_fixed_shapes:
            self._load_rooms(state["room"])

    def restore(self, state: Arrays) -> Arrays:
        """See `World`, name -> [B, ...] to observations [B, N, ...]; in images the path of the TV begins here."""
        observations = super().restore(state)
        self._path[...] = self.state["tv"][:, None, :2]
        return observations

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        state, kept = self.state, self._short(rows)
        if not self.xp.has_fixed_shapes:
            self._load_rooms(state["room"][rows], rows)
        if self._renderer is not None:
            for world in rows:
                self._renderer.load(int(world), self.rooms[int(state["room"][world])], state["stand"][world])
        poses = (state[name][kept] for name in ("tv", "stand", "visited"))
        self._maps.draw(kept, self._slots(kept), *poses)
        for name in {"best_distance", "start_distance"} - given:
            state[name][kept] = self._distance()[kept]

    def _short(self, rows: Array) -> Rows:
        """Rows of worlds in the form that costs least."""
        return slice(None) if rows is self._all_rows else rows

    def _slots(self, rows: Rows) -> Array:
        """Slots of the maps' rooms in these worlds, [K] int64."""
        return self.state["room"][rows] if self.xp.has_fixed_shapes else self._all_rows[rows]

    def _observe(self, rows: Array) -> Arrays:
        state, xp, kept = self.state, self.xp, self._short(rows)
        cells, headings = state["agent_cells"][kept], state["agent_headings"][kept]
        seen: Arrays = {}
        if "view" in self.observation_spec:
            maps = self._maps
            seen["view"] = self._observer.observe(maps.cells.reshape(-1), maps.first_cells[kept], cells, headings)
        if self._renderer is not None:
            seen["frame"] = self._renderer.frames(rows, cells, headings, state["tv"][kept])
        number = coordination_class(headings, xp)
        coordination = seen["coordination"] = xp.empty(headings.shape, dtype=number.dtype)
        coordination[...] = number[:, None]
        return seen

    def _episode_metrics(self, rows: Array) -> Arrays:
        state, xp, kept = self.state, self.xp, self._short(rows)
        success = xp.astype(state["best_distance"][kept] <= 1, xp.float64)
        start, length = (xp.astype(state[name][kept], xp.float64) for name in ("start_distance", "episode_length"))
        return {
            "success": success,
            "final_distance": xp.astype(self._distance()[kept], xp.float64) * CELL_METRES,
            "md_spl": success * (start + 1e-4) / (xp.where(length > start, length, start) + 1e-4),
            "start_distance": start,
        }

    def render(self, index: int = 0) -> Array:
        """Top-down image of world `index` with the path of its TV, [H, W, 3] uint8."""
        from rl_envs.furnmove import render  # only rendering needs Pillow

        state = {name: self.xp.to_numpy(value[index]) for name, value in self.state.items()}
        path = self.xp.to_numpy(self._path[index])[: int(state["episode_length"])]
        path = np.concatenate([path, state["tv"][None, :2]])
        names = ("agent_cells", "agent_headings", "tv", "stand")
        return render.draw(self.rooms[int(state["room"])], *(state[name] for name in names), path=path)


def _check_for_torch(num_agents: int, num_rooms: int, observations: Sequence[str]) -> None:
    """Refuse what torch does not offer."""
    offered = {
        "observations without frames, which are drawn on the CPU": "frame" not in observations,
        f"num_agents of at most {MAX_TORCH_AGENTS}": num_agents <= MAX_TORCH_AGENTS,
        f"at most {MAX_TORCH_ROOMS:,} rooms, which all lie on the device": num_rooms <= MAX_TORCH_ROOMS,
    }
    for needed, holds in offered.items():
        if not holds:
            raise ArraysError(f"arrays='torch' needs {needed}: change them, or write arrays='numpy'")


def seen_spec(observations: Sequence[str], channels: int, pixels: int) -> dict[str, ArraySpec]:
    """What an agent sees of a room, of these observations: view [C, 15, 15] with so many channels, frame [P, P, 3].

    Raises ValueError where they are not some of these.
    """
    known = {
        "view": ArraySpec((channels, VIEW, VIEW), "uint8", 0, 1, "egocentric crop of the room"),
        "frame": ArraySpec((pixels, pixels, 3), "uint8", 0, 255, "picture of the agent's camera: red, green, blue"),
    }
    is_list = isinstance(observations, Collection) and not isinstance(observations, str)
    if not is_list or not len(observations) or any(one not in [*known] for one in observations):
        raise ValueError(f"observations must be a tuple of 'view', 'frame' or both, got {observations!r}")
    return {key: spec for key, spec in known.items() if key in observations}
