"""A checkpoint as a few files of limited size, for machines from which only small files come back.

    folder/checkpoint_000123.piece_1_of_3     one line of JSON, then a part of the compressed stream
    folder/checkpoint_000123.piece_2_of_3     ...

The stream, compressed by zlib, begins with a line of JSON, the names and sizes of the checkpoint's files, and then has
their bytes, each file's in four planes: all first bytes of four, all second ones, ... Weights have similar exponents,
so that one plane of them becomes small. Each piece names its checkpoint, its place and its SHA-256. Nothing that is
unpacked can run code, and a checkpoint appears only when all of it is what was packed.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.training import checkpoint_files as files
from rl_models.training.checkpoint import check_complete, get_checkpoint_path, new_checkpoint
from rl_models.training.checkpoint_files import CheckpointError

__all__ = ["MAX_PIECE_BYTES", "pack", "unpack"]

MAX_PIECE_BYTES = 14 * 2**20
"""Size in bytes that no piece exceeds."""
_FORMAT = "concord-checkpoint-piece"
_LEVEL = 1
_HEADER_BYTES = 1024
_SHARED_FIELDS = {"step": int, "of": int, "bytes": int, "whole": str}
"""Fields in which all pieces of a checkpoint agree: its step, the number of pieces, the size of the stream before it is
compressed, and the SHA-256 of the compressed one."""
_PIECE_FIELDS = {"number": int, "sha256": str}


def pack(checkpoint: Path, folder: Path, largest_bytes: int = MAX_PIECE_BYTES) -> list[Path]:
    """Write a complete checkpoint as numbered pieces of at most `largest_bytes` (> 1,024); gives the pieces, in order.

    Raises:
        CheckpointError: the checkpoint is incomplete, or the folder cannot be written.
    """
    if largest_bytes <= _HEADER_BYTES:
        raise ValueError(f"a piece must have more than {_HEADER_BYTES} bytes, not {largest_bytes}")
    document = files.read_state(checkpoint)
    check_complete(checkpoint, document["step"])
    plain = _joined_files(checkpoint, sorted([files.STATE_FILE, *document["files"]]))
    stream, size = zlib.compress(plain, _LEVEL), largest_bytes - _HEADER_BYTES
    parts = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
    shared = {"step": document["step"], "of": len(parts), "bytes": len(plain), "whole": _digest(stream)}
    name = get_checkpoint_path(folder, document["step"]).name
    pieces = [folder / f"{name}.piece_{number}_of_{len(parts)}" for number in range(1, len(parts) + 1)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (piece, part) in enumerate(zip(pieces, parts, strict=True), 1):
            header = {"format": _FORMAT, **shared, "number": number, "sha256": _digest(part)}
            piece.write_bytes(json.dumps(header).encode() + b"\n" + part)
    except OSError as error:
        raise CheckpointError(
            f"{folder} cannot take the pieces of {checkpoint} ({error.strerror or error}): free space, or name another"
        ) from error
    return pieces


def unpack(pieces: Iterable[Path], folder: Path) -> Path:
    """Write the checkpoint whose pieces these all are, in any order, into a folder of checkpoints; gives its directory.

    Raises:
        CheckpointError: a piece is missing, damaged, unrelated or of another checkpoint, or the folder has a whole
            checkpoint of the same step.
    """
    whole, parts, place = _read_pieces([Path(piece) for piece in pieces])
    stream = b"".join(parts)
    if _digest(stream) != whole["whole"]:
        raise CheckpointError(f"the pieces beside {place} are not a complete checkpoint: copy all pieces again")
    plain = _decompressed(stream, whole["bytes"], place)
    with new_checkpoint(folder, whole["step"]) as hidden:
        for name, content in _single_files(plain, place):
            (hidden / name).write_bytes(content)
        check_complete(hidden, whole["step"])
    return get_checkpoint_path(folder, whole["step"])


# ---- pieces ----------------------------------------------------------------------------------------------------------


def _read_pieces(paths: list[Path]) -> tuple[dict[str, Any], list[bytes], Path]:
    """Fields of the whole, the parts of the stream in order, and the first piece."""
    found: dict[int, tuple[dict[str, Any], bytes, Path]] = {}
    for path in paths:
        header, part = _read_piece(path)
        if found and (other := _differs(header, next(iter(found.values())))) is not None:
            raise CheckpointError(f"{path} and {other} are pieces of different checkpoints; unpack one at a time")
        found[header["number"]] = header, part, path
    if not found:
        raise CheckpointError("no pieces to unpack: name the files checkpoint_*.piece_*")
    whole, _, place = next(iter(found.values()))
    if missing := [number for number in range(1, whole["of"] + 1) if number not in found]:
        numbers = ", ".join(map(str, missing))
        raise CheckpointError(f"piece {numbers} of {whole['of']} is missing beside {place}; fetch it, too")
    return whole, [found[number][1] for number in sorted(found)], place


def _differs(header: dict[str, Any], other: tuple[dict[str, Any], bytes, Path]) -> Path | None:
    """The other piece, where it is of another checkpoint."""
    return None if all(header[name] == other[0][name] for name in _SHARED_FIELDS) else other[2]


def _read_piece(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        line, _, part = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}); fetch that piece again") from error
    try:
        header = json.loads(line[:_HEADER_BYTES])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise CheckpointError(f"{path} is not a piece of a checkpoint; name the files checkpoint_*.piece_*")
    fields = _SHARED_FIELDS | _PIECE_FIELDS
    is_whole = all(type(header.get(name)) is kind for name, kind in fields.items())
    if not is_whole or not 1 <= header["number"] <= header["of"] or _digest(part) != header["sha256"]:
        raise CheckpointError(f"{path} is damaged: it differs from its recorded SHA-256; fetch that piece again")
    return header, part


def _decompressed(stream: bytes, size: int, place: Path) -> bytes:
    """The stream before it was compressed, which is as long as its pieces say: no small file fills the memory."""
    machine = zlib.decompressobj()
    try:
        plain = machine.decompress(stream, max(size, 1))
    except zlib.error as error:
        raise CheckpointError(f"{place} cannot be decompressed ({error}); pack the checkpoint again") from error
    if len(plain) != size or machine.unconsumed_tail:
        raise CheckpointError(f"{place} holds more or less than the {size} bytes it names; pack the checkpoint again")
    return plain


# ---- files in a stream -----------------------------------------------------------------------------------------------


def _joined_files(checkpoint: Path, names: list[str]) -> bytes:
    content = {name: (checkpoint / name).read_bytes() for name in names}
    sizes = json.dumps({name: len(data) for name, data in content.items()}).encode()
    return b"\n".join([sizes, b"".join(map(_in_planes, content.values()))])


def _single_files(plain: bytes, place: Path) -> Iterator[tuple[str, bytes]]:
    line, _, rest = plain.partition(b"\n")
    try:
        sizes: dict[str, int] = json.loads(line)
        are_known = all(files.is_own_name(name) and type(size) is int and size >= 0 for name, size in sizes.items())
    except (ValueError, RecursionError, AttributeError):
        are_known = False
    if not are_known or sum(sizes.values()) != len(rest):
        raise CheckpointError(f"{place} does not hold the files of a checkpoint; give pieces that Concord wrote")
    begin = 0
    for name, size in sizes.items():
        yield name, _from_planes(rest[begin : begin + size])
        begin += size


def _in_planes(data: bytes) -> bytes:
    rest = len(data) % 4
    planes = np.frombuffer(data, np.uint8, len(data) - rest).reshape(-1, 4).T
    return planes.tobytes() + data[len(data) - rest :]


def _from_planes(data: bytes) -> bytes:
    rest = len(data) % 4
    values = np.frombuffer(data, np.uint8, len(data) - rest).reshape(4, -1).T
    return values.tobytes() + data[len(data) - rest :]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
