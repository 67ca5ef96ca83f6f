"""Start files: JSON in the format of the authors' files, with a header (docs/start_format.md).

A Cordial Sync (Jain et al., ECCV 2020, section 6) tests every method from the same starts. Files are untrusted: reading
is bounded, nothing in them is executed, and every fault is one sentence that names the key.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.json_file import JsonFileError, read_object, write_object
from rl_envs.core.spec import Array
from rl_envs.furnmove.fixed_starts import StartError, Starts, check_start
from rl_envs.furnmove.geometry import CELL_METRES, MIN_AGENT_SEPARATION, ROTATIONS
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import SIZES, RoomStream, room_by_name
from rl_envs.furnmove.start import Start

FORMAT, VERSION = "concord-starts", 1
_HEADER = ("format", "version", "agents", "starts"), ("room_size", "origins", "note")
START = AGENTS, TV, STAND = "agent_locations", "lifted_object_location", "to_object_location"
_PLACE = ("x", "z", "rotation"), ("y", "horizon")
QUARTER_TURN = 90
_TOLERANCE = 0.01
"""Tolerance of an engine's numbers from the grid, in metres or degrees."""
_MAX_STARTS = 1e6
_STREAM_ROOM = re.compile(r"(train|valid|test)_stream_([0-9]{1,20})_([0-9]{1,10})")


def parsed(document: dict[str, Any], rooms: Sequence[Room], min_agent_distance_cells: int) -> Starts:
    """Parse a file's JSON object into playable starts.

    The object is as `save_starts` writes it, or the authors' without a header. Names are looked up in `rooms` first,
    then among named rooms and streams.
    """
    header, scenes, prefix = _sections(document)
    num_agents = header.get("agents")
    used: list[Room] = []
    found: list[tuple[int, Start]] = []
    for scene, indices in _entries(scenes, prefix.rstrip("/") or "the file").items():
        where = prefix + _word(scene)
        room, origin = _room(scene, where, rooms, header.get("room_size", "full")), _origin(header, scene)
        for index in sorted(_entries(indices, where), key=lambda index: _number(index, where)):
            start = _start(indices[index], f"{where}/{index}", origin, num_agents)
            try:
                check_start(room, start, min_agent_distance_cells)
            except StartError as error:
                raise StartError(f"{where}/{index}/{error}") from None
            num_agents = len(start.agent_cells)
            found.append((len(used), start))
        used.append(room)
    numbers, starts = zip(*found, strict=True)
    return Starts(tuple(used), np.array(numbers), *(np.stack(arrays) for arrays in zip(*starts, strict=True)))


def shown(value: object) -> str:
    """A value as text for a message, shortened to 80 characters."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _word(key: str) -> str:
    """A key as part of a key path: short and on one line."""
    return "".join(character if character.isprintable() else "?" for character in key[:80])


def _sections(document: dict[str, Any]) -> tuple[dict[str, Any], Any, str]:
    """Header, scenes, and the prefix of key paths to the scenes; the authors' files have no header."""
    if "format" not in document:
        return {}, document, ""
    if document["format"] != FORMAT or type(document.get("version")) is not int or document["version"] != VERSION:
        wanted = f'"format": "{FORMAT}", "version": {VERSION}'
        raise StartError(f"is not a start file of version {VERSION}: it needs {wanted}")
    _check_keys(document, "the file", *_HEADER)
    if type(document["agents"]) is not int or document["agents"] < 1:
        raise StartError(f"agents is {shown(document['agents'])}: write how many agents every start has")
    if document.get("room_size", SIZES[0]) not in SIZES:
        raise StartError(f"room_size is {shown(document['room_size'])}: choose one of {', '.join(SIZES)}")
    return document, document["starts"], "starts/"


def _origin(header: dict[str, Any], scene: str) -> tuple[float, float]:
    """(z, x) of the centre of a room's north-west cell, in metres."""
    origins = header.get("origins", {})
    if not isinstance(origins, dict):
        raise StartError('origins must be an object: write {"scene": {"x": 0.0, "z": 0.0}}')
    where = f"origins/{_word(scene)}"
    origin = _object(origins.get(scene, {"x": 0, "z": 0}), where)
    _check_keys(origin, where, ("x", "z"))
    return _metres(origin["z"], f"{where}/z"), _metres(origin["x"], f"{where}/x")


def _room(scene: str, where: str, rooms: Sequence[Room], size: str) -> Room:
    """The room of a scene, by our name or by the authors': one that is given, else a named one."""
    for name in (scene, scene.removesuffix("_physics").lower()):
        if (room := next((room for room in rooms if room.name == name), None)) is not None:
            return room
        with contextlib.suppress(ValueError):
            return named_room(name, size)
    given = f"the {len(rooms)} rooms given or " if rooms else ""
    raise StartError(
        f"{where}: no room of this name is among {given}the named rooms of size {size}: correct it, or give its room "
        "file (load_starts(rooms=[load_room(FILE)]), --test-rooms FILE)"
    )


def named_room(name: str, size: str) -> Room:
    """A named room, or a room of a stream."""
    if match := _STREAM_ROOM.fullmatch(name):
        number = int(match[3])
        return RoomStream(int(match[2]), size, number + 1, match[1])[number]
    return room_by_name(name, size)


def _start(value: object, where: str, origin: tuple[float, float], num_agents: int | None) -> Start:
    start = _object(value, where)
    _check_keys(start, where, START)
    locations = start[AGENTS]
    if not isinstance(locations, list) or not locations:
        raise StartError(f"{where}/{AGENTS} must be a list with one place for each agent")
    if num_agents not in (None, len(locations)):
        fault = f"has {len(locations)} places but there are {num_agents} agents"
        raise StartError(f"{where}/{AGENTS} {fault}: give every start of the file the same number")
    places = [_place(place, f"{where}/{AGENTS}/{agent}", origin) for agent, place in enumerate(locations)]
    agents = np.stack(places)
    return Start(
        agents[:, :2],
        agents[:, 2],
        _place(start[TV], f"{where}/{TV}", origin),
        _place(start[STAND], f"{where}/{STAND}", origin),
    )


def _place(value: object, where: str, origin: tuple[float, float]) -> Array:
    """[3] int64, row, column, quarter turns."""
    place = _object(value, where)
    _check_keys(place, where, *_PLACE)
    metres = {key: _metres(number, f"{where}/{key}") for key, number in place.items()}
    row = _steps(origin[0] - metres["z"], CELL_METRES, f"{where}/z")
    column = _steps(metres["x"] - origin[1], CELL_METRES, f"{where}/x")
    turns = _steps(metres["rotation"], QUARTER_TURN, f"{where}/rotation")
    return np.array([row, column, turns % ROTATIONS])


def _steps(distance: float, unit: float, where: str) -> int:
    steps = round(distance / unit)
    if abs(steps * unit - distance) > _TOLERANCE:
        raise StartError(f"{where} is {distance:g} from its origin, which is off the grid: use a multiple of {unit}")
    return steps


def _metres(value: object, where: str) -> float:
    """A finite number of moderate size, in metres or degrees."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MAX_STARTS:
        raise StartError(f"{where} is {shown(value)}: write a finite number")
    return float(value)


def _number(index: str, where: str) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,8}", index):
        raise StartError(f"{where}/{_word(index)}: starts are numbered: write a whole number such as '0'")
    return int(index)


def _entries(value: object, where: str) -> dict[str, Any]:
    """An object with at least one entry."""
    entries = _object(value, where)
    if not entries:
        raise StartError(f"{where} is empty: write at least one start into it")
    return entries


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise StartError(f"{where} is {shown(value)}: write a JSON object")
    return value


def _check_keys(entries: dict[str, Any], where: str, required: Sequence[str], optional: Sequence[str] = ()) -> None:
    for key in required:
        if key not in entries:
            raise StartError(f'{where} has no key "{key}": add it; needed are {", ".join(required)}')
    for key in entries:
        if key not in (*required, *optional):
            known = ", ".join((*required, *optional))
            raise StartError(f"{where} has the unknown key {shown(key)}: remove it or correct it; known are {known}")


MAX_FILE_BYTES = 2**26
TV_HEIGHT = 1.3
"""Height of the carried TV above the floor, in metres."""


def resolve_starts(starts: Starts | str, num_agents: int | None, min_agent_distance_cells: int) -> Starts:
    """Playable starts from a world's argument: starts, or the path of a file; `num_agents` must fit if it is given."""
    if isinstance(starts, Starts):
        starts.check(min_agent_distance_cells)
    elif not isinstance(starts, str | os.PathLike):
        raise StartError(f"starts must be Starts or the path of a start file, got {shown(starts)}")
    else:
        starts = load_starts(starts, (), min_agent_distance_cells)
    if num_agents not in (None, starts.num_agents):
        raise StartError(f"the starts are for {starts.num_agents} agents but num_agents is {num_agents}: leave it out")
    return starts


def load_starts(
    path: str | os.PathLike[str], rooms: Sequence[Room] = (), min_agent_distance_cells: int = MIN_AGENT_SEPARATION
) -> Starts:
    """Read and check a start file; names are looked up among your own `rooms` first, then named rooms and streams."""
    try:
        return parsed(read_object(path, MAX_FILE_BYTES, "docs/start_format.md"), rooms, min_agent_distance_cells)
    except (JsonFileError, StartError) as error:
        raise StartError(f"start file {os.fspath(path)}: {error}") from None


def save_starts(path: str | os.PathLike[str], starts: Starts) -> None:
    """Write starts, which `load_starts` reads back unchanged; a crash leaves the old file or the new one."""
    starts.check(min_agent_distance_cells=1)  # the required distance depends on the world that plays them
    try:
        write_object(path, _written(starts))
    except (JsonFileError, StartError) as error:
        raise StartError(f"start file {os.fspath(path)}: {error}") from None


def _written(starts: Starts) -> dict[str, Any]:
    """The JSON object of these starts."""
    scenes: dict[str, dict[str, Any]] = {room.name: {} for room in starts.rooms}
    for number in range(len(starts)):
        room, start = starts[number]
        scenes[room.name][str(len(scenes[room.name]))] = _written_start(start)
    header = {"format": FORMAT, "version": VERSION, "agents": starts.num_agents}
    size = _size_of(starts.rooms)
    return header | ({"room_size": size} if size else {}) | {"starts": scenes}


def _size_of(rooms: Sequence[Room]) -> str | None:
    """The size of the named rooms among these, by which a reader finds them again; None if none has a name."""
    named = {room.name: sizes for room in rooms if (sizes := _sizes_of(room)) is not None}
    if other := next((name for name, sizes in named.items() if not sizes), None):
        raise StartError(f"{other} is not the named room of this name, which would be read: give it another name")
    shared = [size for size in SIZES if all(size in sizes for sizes in named.values())]
    if not shared:
        raise StartError(f"the named rooms are of {' and '.join(SIZES)} size, and a file has one: save two files")
    return shared[0] if named else None


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


def _sizes_of(room: Room) -> list[str] | None:
    """Sizes in which this is the named room of its name; None if no named room has it."""
    try:
        return [size for size in SIZES if named_room(room.name, size) == room]
    except ValueError:
        return None
