"""Rooms of FurnMove and FurnLift by the values of flags, and the check that splits are disjoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rl_envs.furnmove.ithor import PREFIX, has_inferred_tv_cells
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import resolve_rooms
from tune_experiments.core.errors import UserError


def check_apart(named: Mapping[str, Sequence[str]]) -> None:
    """Check that no room is used twice.

    Args:
        named: flag -> names of its rooms.

    Raises:
        UserError: a room is used twice.
    """
    used: dict[str, str] = {}
    for flag, names in named.items():
        for name in names:
            room = name.removeprefix(PREFIX).lower()  # floorplan229 is also one of iTHOR's floors
            if room in used:
                flags = f"twice by {flag}" if used[room] == flag else f"by {used[room]} and {flag}"
                raise UserError(f"{name} is named {flags}: use each room once")
            used[room] = flag


def room_names(room_size: str, words: Sequence[str]) -> list[str]:
    """Names of rooms; a stream counts as one name, because its rooms are in no other set."""
    streams = [word for word in words if _is_stream(word)]
    return [*streams, *(room.name for room in named_rooms(room_size, words))]


def named_rooms(room_size: str, words: Sequence[str]) -> tuple[Room, ...]:
    """The rooms of all these values, in order, without those of streams."""
    return all_rooms(room_size, [word for word in words if not _is_stream(word)])


def all_rooms(room_size: str, words: Sequence[str]) -> tuple[Room, ...]:
    """The rooms of all these values, in order, with those of streams."""
    return tuple(room for word in words for room in resolve_rooms(word, room_size))


def room_files(words: Sequence[str]) -> list[str]:
    """The values that are paths of room files."""
    return [word for word in words if word.endswith(".json")]


def _is_stream(word: str) -> bool:
    return word.endswith("_stream")


def has_inferred_masks(rooms: Sequence[Room]) -> bool:
    """Whether some rooms are iTHOR's or exported, whose cells for the television are inferred; tables must say so."""
    return any(has_inferred_tv_cells(room) for room in rooms)
