"""Rooms for training, validation and test: named rooms, and streams of many rooms.

"A Cordial Sync" (Jain et al., ECCV 2020, section 6.1) trains in 20 living rooms of AI2-THOR and tests in 5 others. Here
the named rooms are procedural, with FloorPlan229 as a sixth test room of the full size. A room's seed encodes split,
stream, size and index, so no two rooms share a seed. `ithor_train`, `ithor_valid` and `ithor_test` are the paper's own
rooms, with inferred cells for the television (`ithor.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import overload

from rl_envs.core.arguments import one_of
from rl_envs.furnmove.generator import MAX_CELLS, generate_room
from rl_envs.furnmove.ithor import PREFIX, SPLITS, ithor_rooms
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.room_checks import RoomError
from rl_envs.furnmove.room_file import load_room

NAMED_ROOMS = {"train": 20, "valid": 5, "test": 5}
"""Split -> number of named procedural rooms."""

ITHOR_ROOMS = tuple(PREFIX + split for split in SPLITS)
"""Names of the splits with the floors of iTHOR's living rooms."""

SIZES = tuple(MAX_CELLS)
STREAM_ROOMS = {"train": 4096, "valid": 512, "test": 512}
"""Split -> length of the stream that `resolve_rooms` makes."""

MAX_STREAM_SEED, MAX_STREAM_ROOMS = 2**64, 2**32
FLOORPLAN229 = "floorplan229"
_CACHED_ROOMS = 4096
_SPLITS = tuple(NAMED_ROOMS)


def split_rooms(split: str, size: str = "full") -> tuple[Room, ...]:
    """Named rooms of a split and size: `train_room_01` and so on; in the full test split FloorPlan229 comes last."""
    _check(split, size)
    return _named_rooms(split, size)


def room_by_name(name: str, size: str = "full") -> Room:
    """One named room, such as `test_room_03` or `floorplan229`; RoomError for an unknown name."""
    if name == FLOORPLAN229:
        return _floorplan229()
    if name.startswith(PREFIX):
        for room in (room for split in SPLITS for room in ithor_rooms(split)):
            if room.name == name:
                return room
    for split, count in NAMED_ROOMS.items():
        for number in range(1, count + 1):
            if name == _room_name(split, number):
                return split_rooms(split, size)[number - 1]
    raise RoomError(
        f"no room is called {name!r}: there are train_room_01-20, valid_ and test_room_01-05, {FLOORPLAN229}, "
        f"{PREFIX}FloorPlan201-230"
    )


@dataclass(frozen=True)
class RoomStream(Sequence[Room]):
    """Many procedural rooms, each made at its first use and equal in every process.

    Streams of different splits, seeds or sizes share no room seed with each other or with the named rooms. A stream is
    four values, so it is cheap to send to another process. Each process caches its latest rooms.
    """

    seed: int = 0  # seed of the stream, 0 .. 2**64 - 1.
    size: str = "full"  # `full` or `laptop`
    # number of rooms; the first ones do not depend on it
    count: int = STREAM_ROOMS["train"]  # type: ignore[assignment]  # hides Sequence.count, which rooms do not need
    split: str = "train"  # `train`, `valid` or `test`

    def __post_init__(self) -> None:
        """Refuse unknown splits and sizes, and numbers out of range."""
        _check(self.split, self.size)
        if not 0 <= self.seed < MAX_STREAM_SEED or not 1 <= self.count <= MAX_STREAM_ROOMS:
            raise ValueError(
                f"a room stream needs a seed of 0 .. 2**64 - 1 and 1 .. 2**32 rooms; got {self.seed} and {self.count}"
            )

    @property
    def bounds(self) -> tuple[int, int]:
        """Largest (H, W) of a room in this stream, computed without making a room."""
        return MAX_CELLS[self.size]

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, index: int) -> Room: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Room]: ...
    def __getitem__(self, index: int | slice) -> Room | Sequence[Room]:
        if isinstance(index, slice):
            return tuple(self._room(number) for number in range(*index.indices(self.count)))
        if not -self.count <= index < self.count:
            raise IndexError(f"this stream has {self.count} rooms, there is no room {index}")
        return self._room(int(index) % self.count)

    def __iter__(self) -> Iterator[Room]:
        return (self._room(number) for number in range(self.count))

    def _room(self, number: int) -> Room:
        name = f"{self.split}_stream_{self.seed}_{number}"
        return _made(_seed(self.split, self.size, self.seed + 1, number), self.size, name)


def bounds(rooms: Sequence[Room]) -> tuple[int, int]:
    """Height and width in cells that every one of these rooms fits into; no room of a stream is made."""
    if isinstance(rooms, RoomStream):
        return rooms.bounds
    if not rooms:
        raise ValueError("there are no rooms: give at least one")
    return max(room.height for room in rooms), max(room.width for room in rooms)


def resolve_rooms(rooms: str | Sequence[Room], size: str = "full") -> Sequence[Room]:
    """The rooms that a name stands for, or these rooms; RoomError for an unknown name or what is no room.

    Args:
        rooms: a split's named rooms (`train`, `valid`, `test`; the floors of iTHOR: `ithor_train`, `ithor_valid`,
            `ithor_test`), a stream (`train_stream`, `valid_stream`, `test_stream`), one room's name (`floorplan229`,
            `ithor_FloorPlan201`), the path of a room file (`*.json`), or rooms.
        size: `full` or `laptop`; a file and the floors of iTHOR have their own size.
    """
    one_of(SIZES, room_size=size)
    if isinstance(rooms, RoomStream):
        return rooms
    if not isinstance(rooms, str):
        found = [room for room in rooms if isinstance(room, Room)] if isinstance(rooms, Sequence) else []
        if not isinstance(rooms, Sequence) or len(found) < len(rooms):
            raise RoomError(f"rooms must be a name, the path of a room file, or Room objects, got {rooms!r:.80}")
        return tuple(found)
    if rooms in NAMED_ROOMS:
        return split_rooms(rooms, size)
    if rooms in ITHOR_ROOMS:
        return ithor_rooms(rooms.removeprefix(PREFIX))
    split = rooms.removesuffix("_stream")
    if rooms.endswith("_stream") and split in NAMED_ROOMS:
        return RoomStream(size=size, count=STREAM_ROOMS[split], split=split)
    if rooms.endswith(".json"):
        return (load_room(rooms),)
    try:
        return (room_by_name(rooms, size),)
    except RoomError as error:
        words = ", ".join((*NAMED_ROOMS, *ITHOR_ROOMS, *(f"{split}_stream" for split in NAMED_ROOMS)))
        raise RoomError(f"{error}; or write one of {words}, or the path of a room file (*.json)") from None


@cache
def _named_rooms(split: str, size: str) -> tuple[Room, ...]:
    numbers = range(1, NAMED_ROOMS[split] + 1)
    rooms = [generate_room(_seed(split, size, 0, number), size, _room_name(split, number)) for number in numbers]
    if (split, size) == ("test", "full"):
        rooms.append(_floorplan229())
    return tuple(rooms)


@cache
def _floorplan229() -> Room:
    return load_room(Path(__file__).with_name(f"{FLOORPLAN229}.json"))


@lru_cache(maxsize=_CACHED_ROOMS)
def _made(seed: int, size: str, name: str) -> Room:
    return generate_room(seed, size, name)


def _room_name(split: str, number: int) -> str:
    return f"{split}_room_{number:02d}"


def _seed(split: str, size: str, stream: int, number: int) -> int:
    """A unique seed for each room; stream 0 has the named rooms, stream s + 1 is the stream with seed s."""
    kind = _SPLITS.index(split) << 8 | SIZES.index(size)
    return (stream << 16 | kind) << 32 | number


def _check(split: str, size: str) -> None:
    one_of(NAMED_ROOMS, split=split)
    one_of(SIZES, room_size=size)
