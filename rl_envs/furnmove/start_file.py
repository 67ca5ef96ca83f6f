"""Start files: JSON in the format of the authors' files, with a header (docs/start_format.md).

A Cordial Sync (Jain et al., ECCV 2020, section 6) tests every method from the same starts. Files are untrusted: reading
is bounded, nothing in them is executed, and every fault is one sentence that names the key.

This file must not know about episodes or how starts are made.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rl_envs.core.json_file import JsonFileError, read_object, write_object
from rl_envs.furnmove.fixed_starts import StartError, Starts
from rl_envs.furnmove.geometry import CELL_METRES, MIN_AGENT_SEPARATION
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import SIZES
from rl_envs.furnmove.start import Start
from rl_envs.furnmove.start_document import (
    AGENTS,
    FORMAT,
    QUARTER_TURN,
    STAND,
    TV,
    VERSION,
    named_room,
    parsed,
)

MAX_FILE_BYTES = 2**26
TV_HEIGHT = 1.3
"""Height of the carried TV above the floor, in metres."""


def resolve_starts(starts: Starts | str, num_agents: int | None, min_agent_distance_cells: int) -> Starts:
    """The starts of a world's argument, all of them playable.

    Args:
        starts: the starts, or the path of a file whose rooms are looked up by name.
        num_agents: N of the world; None takes N of the starts.
        min_agent_distance_cells: the world's argument of this name.

    Raises:
        StartError: the file is not usable, a start is not playable, or it has another number of agents.
    """
    if isinstance(starts, Starts):
        starts.check(min_agent_distance_cells)
    else:
        starts = load_starts(starts, None, min_agent_distance_cells)
    if num_agents not in (None, starts.num_agents):
        raise StartError(f"the starts are for {starts.num_agents} agents but num_agents is {num_agents}: leave it out")
    return starts


def load_starts(
    path: str | os.PathLike[str],
    rooms: Sequence[Room] | None = None,
    min_agent_distance_cells: int = MIN_AGENT_SEPARATION,
) -> Starts:
    """Read and check a start file.

    Args:
        path: the file.
        rooms: rooms in which names are looked up; None for all named rooms and streams.
        min_agent_distance_cells: the world's argument of this name.

    Raises:
        StartError: the file is missing, is not a start file, or holds a start that is not playable.
    """
    try:
        return parsed(read_object(path, MAX_FILE_BYTES, "docs/start_format.md"), rooms, min_agent_distance_cells)
    except (JsonFileError, StartError) as error:
        raise StartError(f"start file {os.fspath(path)}: {error}") from None


def save_starts(path: str | os.PathLike[str], starts: Starts) -> None:
    """Write starts, which `load_starts` reads back unchanged; a crash leaves the old file or the new one.

    Raises:
        StartError: a start is not playable, or the file cannot be written.
    """
    starts.check(min_agent_distance_cells=1)  # the required distance depends on the world that plays them
    try:
        write_object(path, _written(starts))
    except JsonFileError as error:
        raise StartError(f"start file {os.fspath(path)}: {error}") from None


def _written(starts: Starts) -> dict[str, Any]:
    """The JSON object of these starts."""
    scenes: dict[str, dict[str, Any]] = {room.name: {} for room in starts.rooms}
    for number in range(len(starts)):
        room, start = starts[number]
        scenes[room.name][str(len(scenes[room.name]))] = _written_start(start)
    header = {"format": FORMAT, "version": VERSION, "agents": starts.num_agents}
    size = next((size for size in SIZES if all(_is_named(room, size) for room in starts.rooms)), None)
    return header | ({"room_size": size} if size else {}) | {"starts": scenes}


def _written_start(start: Start) -> dict[str, Any]:
    poses = [(*cell, turns) for cell, turns in zip(start.agent_cells, start.agent_headings, strict=True)]
    return {
        AGENTS: [_written_place(*pose) | {"horizon": 0} for pose in poses],
        TV: _written_place(*start.tv, height=TV_HEIGHT),
        STAND: _written_place(*start.stand),
    }


def _written_place(row: int, column: int, turns: int, *, height: float = 0.0) -> dict[str, float]:
    north = 0.0 - CELL_METRES * int(row)  # never -0.0
    return {"x": CELL_METRES * int(column), "y": height, "z": north, "rotation": QUARTER_TURN * int(turns)}


def _is_named(room: Room, size: str) -> bool:
    """Whether this name and size identify the room."""
    try:
        return named_room(room.name, size) == room
    except ValueError:
        return False
