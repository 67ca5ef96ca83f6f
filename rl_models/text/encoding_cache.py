"""Cache of sentence encodings on disk: safetensors files in a folder, which are written whole and never changed.

A file holds a batch of sentences, and its name is a hash of them. So processes that encode the same batch at the same
time write the same file, processes with different batches write different files, and no process waits. The folder
belongs to one encoder with one padding. This file must not know how sentences are encoded.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

FOLDER_VARIABLE = "CONCORD_ENCODINGS"
"""Environment variable that names the folder of all encodings, one that workers share."""

_SUFFIX = ".safetensors"


class EncodingCacheError(ValueError):
    """A file of encodings cannot be read or written; the message names the file."""


class EncodingCache:
    """The encodings of one encoder, sentence -> [L, F] float32."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which may not exist yet."""
        self._folder = folder
        self._file_of: dict[str, Path] = {}
        self._seen: set[Path] = set()

    def find(self, sentences: Iterable[str]) -> dict[str, Tensor]:
        """Encodings of those sentences that the cache holds, sentence -> [L, F] float32.

        Raises:
            EncodingCacheError: a file is damaged.
        """
        self._look_for_new_files()
        by_file: dict[Path, list[str]] = {}
        for sentence in sentences:
            if (file := self._file_of.get(_name(sentence))) is not None:
                by_file.setdefault(file, []).append(sentence)
        return {sentence: value for file, some in by_file.items() for sentence, value in _read(file, some).items()}

    def add(self, encodings: Mapping[str, Tensor]) -> None:
        """Write the encodings of a batch of sentences; a crash leaves a whole file or none.

        Args:
            encodings: sentence -> [L, F] float32.

        Raises:
            EncodingCacheError: the folder cannot be created or written to.
        """
        named = {_name(sentence): value.contiguous() for sentence, value in encodings.items()}
        file = self._folder / f"{_name(''.join(sorted(named)))}{_SUFFIX}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write_whole(file, safetensors.torch.save(named))
        except OSError as error:
            raise EncodingCacheError(
                f"encodings cannot be written to {self._folder} ({error.strerror or error}); free disk space there, or "
                f"set {FOLDER_VARIABLE} to another folder"
            ) from error

    def _look_for_new_files(self) -> None:
        for file in sorted(set(self._folder.glob(f"*{_SUFFIX}")) - self._seen):
            self._file_of |= dict.fromkeys(_names_in(file), file)
            self._seen.add(file)


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _names_in(file: Path) -> list[str]:
    try:
        with safe_open(file, framework="pt") as tensors:
            return list(tensors.keys())
    except (SafetensorError, OSError) as error:
        raise _damaged(file, error) from error


def _read(file: Path, sentences: list[str]) -> dict[str, Tensor]:
    try:
        with safe_open(file, framework="pt") as tensors:
            return {sentence: tensors.get_tensor(_name(sentence)) for sentence in sentences}
    except (SafetensorError, OSError) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> EncodingCacheError:
    return EncodingCacheError(
        f"{file} is not a readable file of encodings ({error}); delete it, and its sentences are encoded again"
    )


def _write_whole(file: Path, content: bytes) -> None:
    """Write a temporary file in the same folder, then rename it."""
    descriptor, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, file)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
