"""A list of fixed starts of FurnMove, and checks that a start is playable; every fault is one sentence.

A Cordial Sync (Jain et al., ECCV 2020, section 6) tests all methods from the same starts: 200 in each of five rooms.
The authors' replay accepts any start and opens closed cells for agents; here such a start is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.furnmove.geometry import ROTATIONS, STAND
from rl_envs.furnmove.maps import can_hold
from rl_envs.furnmove.room import Mask, Room
from rl_envs.furnmove.start import Start, packed


class StartError(ValueError):
    """A start that is not playable; the message names the fault, its position and a remedy."""


@dataclass(frozen=True, eq=False)
class Starts:
    """K starts in R rooms, sorted by room. The arrays are read-only and have the names of the world's state."""

    rooms: tuple[Room, ...]  # the R rooms, each with a unique name and at least one start
    room: Array  # [K] int64, index of each start's room, never decreasing
    agent_cells: Array  # [K, N, 2] int64, row and column
    agent_headings: Array  # [K, N] int64, quarter turns
    tv: Array  # [K, 3] int64, row, column, rotation in quarter turns
    stand: Array  # [K, 3] int64, row, column, rotation in quarter turns

    def __post_init__(self) -> None:
        """Copy the arrays, and check their shapes and order."""
        object.__setattr__(self, "rooms", tuple(self.rooms))
        for name in self._arrays():
            array = np.array(getattr(self, name), np.int64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_shapes()
        if len({room.name for room in self.rooms}) < len(self.rooms):
            raise StartError("two rooms have the same name: give each room of the starts a name of its own")
        if (np.diff(self.room) < 0).any() or not np.array_equal(np.unique(self.room), np.arange(len(self.rooms))):
            raise StartError("room must count up through all rooms: list the starts room after room, each room once")
        turns = np.concatenate([self.agent_headings.ravel(), self.tv[:, 2], self.stand[:, 2]])
        if (turns < 0).any() or (turns >= ROTATIONS).any():
            raise StartError("headings and rotations are quarter turns: use 0, 1, 2 or 3")

    def __len__(self) -> int:
        return len(self.room)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Starts)
            and self.rooms == other.rooms
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._arrays())
        )

    __hash__ = None  # type: ignore[assignment]  # compared by its arrays, and never a key

    @property
    def num_agents(self) -> int:
        """N."""
        return int(self.agent_cells.shape[1])

    def __getitem__(self, number: int) -> tuple[Room, Start]:
        """Start `number` and its room."""
        start = Start(self.agent_cells[number], self.agent_headings[number], self.tv[number], self.stand[number])
        return self.rooms[self.room[number]], start

    def packed(self) -> Array:
        """All starts packed, [K, W] int64 (`start.py`)."""
        return np.stack([packed(int(room), self[number][1]) for number, room in enumerate(self.room)])

    def check(self, min_agent_distance_cells: int) -> None:
        """Refuse (StartError) the first start that is not playable."""
        for number in range(len(self)):
            room, start = self[number]
            try:
                check_start(room, start, min_agent_distance_cells)
            except StartError as error:
                raise StartError(f"start {number} (room {room.name!r}): {error}") from None

    def _arrays(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self) if field.name != "rooms")

    def _check_shapes(self) -> None:
        shapes = {name: getattr(self, name).shape for name in self._arrays()}
        count, agents = len(self.room), self.agent_headings.shape[-1] if self.agent_headings.ndim else 0
        wanted = ((count,), (count, agents, 2), (count, agents), (count, 3), (count, 3))
        if tuple(shapes.values()) != wanted or not count or not agents:
            raise StartError(f"starts need arrays [K], [K, N, 2], [K, N], [K, 3] and [K, 3], got {shapes}")


def check_start(room: Room, start: Start, min_agent_distance_cells: int) -> None:
    """Refuse (StartError) a start that the world's own rule could not have drawn, or that is solved.

    It does not check whether the TV can be carried to the stand. Rows and columns count from the north-west cell.
    """
    _check_tv_and_stand(room, start)
    floor = _allows(room.agent_cells, start.agent_cells)
    half = STAND[start.stand[2]].max(0)
    under_stand = (abs(start.agent_cells - start.stand[:2]) <= half).all(1)
    holds = can_hold(start.tv[None], start.agent_cells[None])[0]
    for agent, cell in enumerate(start.agent_cells):
        where, near = f"agent_locations/{agent}: {_named(cell)}", start.agent_cells[:agent] - cell
        if not floor[agent]:
            raise StartError(f"{where} is not free floor of {room.name!r}: move the agent")
        if under_stand[agent]:
            raise StartError(f"to_object_location: agent {agent} stands where the stand is: move either")
        if not holds[agent]:
            raise StartError(f"{where} is not a cell to hold the TV from: move the agent beside the TV, clear of it")
        if (abs(near).max(1) < min_agent_distance_cells).any():
            raise StartError(f"{where} is nearer to another agent than {min_agent_distance_cells} cells: move either")


def check_poses(rooms: Sequence[Room], state: Arrays) -> None:
    """Refuse (ValueError) a state [B, ...] with an agent off the floor of its room, or a TV or stand in no cell of it.

    `state` has `room`, `agent_cells` and `tv`, and may have `stand`.
    """
    for world, number in enumerate(state["room"].tolist()):
        room = rooms[number]
        if not _allows(room.agent_cells, state["agent_cells"][world]).all():
            got = state["agent_cells"][world].tolist()
            raise ValueError(f"restore: agent_cells of world {world} must be free floor of {room.name!r}, got {got}")
        for name in ("tv", "stand"):
            pose = state.get(name, state["tv"])[world]
            if not ((pose >= 0) & (pose < (room.height, room.width, ROTATIONS))).all():
                size = f"{room.height} x {room.width} cells and {ROTATIONS} rotations of {room.name!r}"
                raise ValueError(f"restore: {name} of world {world} must be in the {size}, got {pose.tolist()}")


def _check_tv_and_stand(room: Room, start: Start) -> None:
    row, column, rotation = start.tv.tolist()
    if not _allows(room.tv_cells[rotation], start.tv[:2]):
        pose = f"{_named(start.tv)}, rotation {90 * rotation}"
        raise StartError(f"lifted_object_location: {pose} is not a pose of the TV in {room.name!r}: move or turn it")
    covered = start.stand[:2] + STAND[start.stand[2]]
    blocked = ~_allows(room.agent_cells, covered)
    if blocked.any():
        fault = f"the stand covers {_named(covered[blocked][0])}, which is not free floor of {room.name!r}"
        raise StartError(f"to_object_location: {fault}: move or turn it")
    if abs(start.stand[:2] - (row, column)).sum() <= 1:
        raise StartError("to_object_location: the TV is over the stand, so the episode is solved already: move either")


def _allows(mask: Mask, cells: Array) -> Array:
    """Whether cells [..., 2] are within the room and in the mask [H, W], [...] bool."""
    inside = np.asarray(((cells >= 0) & (cells < mask.shape)).all(-1))
    row, column = np.moveaxis(cells * inside[..., None], -1, 0)
    return np.logical_and(inside, mask[row, column])


def _named(cell: Array) -> str:
    return f"row {cell[0]}, column {cell[1]}"
