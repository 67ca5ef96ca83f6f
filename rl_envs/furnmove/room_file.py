"""Room files: JSON that a person can read, draw and correct (docs/room_format.md).

A file describes a room of the gridworld of "A Cordial Sync" (Jain et al., ECCV 2020, section 6.1): the floor as a
drawing and, if they do not follow from the drawing, the cells for the lifted television, and pieces of furniture with
their kinds and heights. Files are untrusted: reading is bounded, nothing in them is executed, and every fault is one
sentence.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.json_file import JsonFileError, read_object, write_object
from rl_envs.furnmove.room import Furniture, Mask, Room, characters, room_from_drawing, tv_cells_by_rule
from rl_envs.furnmove.room_checks import (
    MAX_PIECES,
    RoomError,
    check_drawing,
    check_name,
    check_rectangle,
    ringed,
    validate_room,
)

FORMAT, VERSION = "concord-room", 2
READABLE_VERSIONS = (1, 2)
"""Version 1 has no furniture."""

MAX_FILE_BYTES = 2**20
ALLOWED, FORBIDDEN = ".", "#"
_REQUIRED = ("format", "version", "name", "floor")
_OPTIONAL = ("television", "furniture", "note")
_PIECE = ("kind", "row", "column", "rows", "columns", "height")


def load_room(path: str | os.PathLike[str]) -> Room:
    """Read and check a room file; raises RoomError."""
    try:
        document = read_object(path, MAX_FILE_BYTES, "docs/room_format.md")
        _check_keys(document)
        room = _parsed(document)
        validate_room(room)
    except (JsonFileError, RoomError) as error:
        raise RoomError(f"room file {os.fspath(path)}: {error}") from None
    return room


def save_room(room: Room, path: str | os.PathLike[str], note: str = "") -> None:
    """Write a room, which `load_room` reads back unchanged except for the note; the write is atomic."""
    validate_room(room)
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": room.name, "floor": ringed(room.drawing)}
    if note:
        document["note"] = note
    if not np.array_equal(room.tv_cells, tv_cells_by_rule(room.drawing)):
        cells = np.where(room.tv_cells, ALLOWED, FORBIDDEN).tolist()
        document["television"] = [ringed(["".join(row) for row in drawing]) for drawing in cells]
    if room.furniture:
        pieces = ((p.kind, p.row + 1, p.column + 1, p.rows, p.columns, p.height) for p in room.furniture)
        document["furniture"] = [dict(zip(_PIECE, piece, strict=True)) for piece in pieces]
    try:
        write_object(path, document, indent=2)
    except JsonFileError as error:
        raise RoomError(f"room file {os.fspath(path)}: {error}") from None


def _check_keys(document: dict[str, Any]) -> None:
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version not in READABLE_VERSIONS:
        known = " or ".join(map(str, READABLE_VERSIONS))
        raise RoomError(f'is not a room file of version {known}: it needs "format": "{FORMAT}", "version": {VERSION}')
    if version == 1 and "furniture" in document:
        raise RoomError('has furniture, which version 1 does not know: write "version": 2')
    for key in _REQUIRED:
        if key not in document:
            raise RoomError(f'has no key "{key}": add it; a room file needs {", ".join(_REQUIRED)}')
    for key in document:
        if key not in _REQUIRED + _OPTIONAL:
            known = ", ".join(_REQUIRED + _OPTIONAL)
            raise RoomError(f"has the unknown key {key[:80]!r}: remove it or correct its spelling; known are {known}")


def _parsed(document: dict[str, Any]) -> Room:
    check_name(document["name"])
    floor = _rows(document["floor"], "floor")
    check_drawing(floor)
    tv_cells = _television(document["television"], floor) if "television" in document else None
    furniture = _furniture(document.get("furniture", []))
    return room_from_drawing(document["name"], [row[1:-1] for row in floor[1:-1]], tv_cells, furniture)


def _furniture(value: object) -> list[Furniture]:
    """The pieces; rows and columns in the file count the surrounding wall."""
    if not isinstance(value, list) or len(value) > MAX_PIECES:
        raise RoomError(f"furniture must be a list of at most {MAX_PIECES} pieces")
    return [_piece(piece, f"furniture {number}") for number, piece in enumerate(value)]


def _piece(value: object, where: str) -> Furniture:
    if not isinstance(value, dict) or set(value) != set(_PIECE):
        raise RoomError(f"{where} must be an object with the keys {', '.join(_PIECE)}")
    if not isinstance(value["kind"], str):
        raise RoomError(f"{where}: kind must be a name in quotes")
    places = [value[name] for name in _PIECE[1:5]]
    is_height = type(value["height"]) in (int, float) and abs(value["height"]) < 1e6
    if any(type(number) is not int for number in places) or not is_height:
        raise RoomError(f"{where}: row, column, rows and columns must be whole numbers, and height a number of metres")
    row, column, rows, columns = places
    return Furniture(value["kind"], row - 1, column - 1, rows, columns, float(value["height"]))


def _rows(value: object, what: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(row, str) for row in value):
        raise RoomError(f"{what} must be a list of rows: write each row of the drawing as one string in quotes")
    check_rectangle(value, what)
    return value


def _television(value: object, floor: Sequence[str]) -> Mask:
    """The television's cells [4, H, W] bool, from four drawings of the floor's size."""
    if not isinstance(value, list) or len(value) != 4:
        raise RoomError("television must be a list of 4 drawings, for rotations 0, 90, 180 and 270")
    masks = []
    for rotation, drawing in enumerate(value):
        what = f"television, rotation {90 * rotation}"
        cells = characters(_rows(drawing, what))
        if cells.shape != (len(floor), len(floor[0])):
            raise RoomError(f"{what}: {cells.shape} rows and columns, but the floor has {(len(floor), len(floor[0]))}")
        ring = cells == ALLOWED
        ring[1:-1, 1:-1] = False
        faulty = ~np.isin(cells, (ALLOWED, FORBIDDEN)) | ring
        if faulty.any():
            row, column = np.argwhere(faulty)[0]
            raise RoomError(
                f"{what}, row {row}, column {column}: {str(cells[row, column])!r}; write '.' where its centre may be, "
                "'#' elsewhere and on the border"
            )
        masks.append(cells[1:-1, 1:-1] == ALLOWED)
    return np.stack(masks)
