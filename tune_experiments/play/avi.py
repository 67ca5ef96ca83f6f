"""An episode as an AVI file with sound: JPEG pictures and PCM samples, which any player opens.

Pillow writes the pictures and the container is a list of chunks, so no codec has to be installed. Other containers and
codecs (MP4, H.264, AAC) would need one, such as ffmpeg's. Source: Microsoft's AVI RIFF file reference.
"""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tune_experiments.core.files import write_atomically
from tune_experiments.play.video import check_frames

_QUALITY = 90
_HAS_INDEX, _IS_KEY_FRAME, _IS_INTERLEAVED = 0x10, 0x10, 0x100
_SAMPLE_BYTES = 2
PICTURE, SOUND = b"00dc", b"01wb"
"""Names of the two streams' chunks."""


def write_avi(
    frames: Sequence[np.ndarray], path: Path, frame_seconds: float, sound: np.ndarray, sample_rate: int
) -> Path:
    """Write `[T][H, W, 3] uint8` frames with `[S, C] int16` sound; the sound of a frame lies beside its picture.

    Args:
        frames: the pictures.
        path: the file.
        frame_seconds: how long each is shown.
        sound: samples of C channels, as long as the pictures; a rest is cut and a lack is silent.
        sample_rate: samples a second.

    Raises:
        ValueError: no frames, frames of different shapes, or sound of another form.
    """
    check_frames(frames)
    if sound.ndim != 2 or sound.dtype != np.int16:
        raise ValueError(f"sound must be [S, C] int16, not {list(sound.shape)} {sound.dtype}")
    pictures = [_jpeg(frame) for frame in frames]
    samples = _cut(sound, len(frames), frame_seconds, sample_rate)
    chunks = [
        chunk for pair in zip(pictures, samples, strict=True) for chunk in zip((PICTURE, SOUND), pair, strict=True)
    ]
    body = _list(b"movi", b"".join(_chunk(name, data) for name, data in chunks))
    header = _header(
        frames, max(map(len, pictures)), frame_seconds, sum(map(len, samples)), sound.shape[1], sample_rate
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _chunk(b"RIFF", b"AVI " + header + body + _index(chunks)))
    return path


def _jpeg(frame: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=_QUALITY, subsampling=0)
    return file.getvalue()


def _cut(sound: np.ndarray, count: int, frame_seconds: float, sample_rate: int) -> list[bytes]:
    """The samples of each frame."""
    ends = [round(number * frame_seconds * sample_rate) for number in range(count + 1)]
    whole = np.zeros((ends[-1], sound.shape[1]), "<i2")
    whole[: len(sound)] = sound[: ends[-1]]
    return [whole[first:last].tobytes() for first, last in itertools.pairwise(ends)]


def _chunk(name: bytes, data: bytes) -> bytes:
    """Name, size, data, and one byte more if the size is odd."""
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _list(name: bytes, data: bytes) -> bytes:
    return _chunk(b"LIST", name + data)


def _header(
    frames: Sequence[np.ndarray], largest: int, frame_seconds: float, sound_bytes: int, channels: int, rate: int
) -> bytes:
    """Sizes, and the formats of both streams."""
    (height, width), count = frames[0].shape[:2], len(frames)
    microseconds, block = round(frame_seconds * 1e6), channels * _SAMPLE_BYTES
    flags = _HAS_INDEX | _IS_INTERLEAVED
    main = struct.pack("<14I", microseconds, 0, 0, flags, count, 0, 2, largest, width, height, 0, 0, 0, 0)
    picture = struct.pack("<4s4sIHHIIIIIIII4H", b"vids", b"MJPG", 0, 0, 0, 0, microseconds, 10**6, 0, count, largest,
                          2**32 - 1, 0, 0, 0, width, height)  # fmt: skip
    bitmap = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 24, b"MJPG", width * height * 3, 0, 0, 0, 0)
    sound = struct.pack("<4s4sIHHIIIIIIII4H", b"auds", b"\0" * 4, 0, 0, 0, 0, block, rate * block, 0,
                        sound_bytes // block, rate * block, 2**32 - 1, block, 0, 0, 0, 0)  # fmt: skip
    wave = struct.pack("<HHIIHH", 1, channels, rate, rate * block, block, 8 * _SAMPLE_BYTES)
    streams = (
        _list(b"strl", _chunk(b"strh", start) + _chunk(b"strf", form))
        for start, form in ((picture, bitmap), (sound, wave))
    )
    return _list(b"hdrl", _chunk(b"avih", main) + b"".join(streams))


def _index(chunks: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Index of the chunks: the offset of each, counted from the name of the list that holds them."""
    entries, place = [], 4
    for name, data in chunks:
        entries.append(name + struct.pack("<III", _IS_KEY_FRAME, place, len(data)))
        place += 8 + len(data) + len(data) % 2
    return _chunk(b"idx1", b"".join(entries))
