"""Frozen text encoder: every sentence is encoded once, stored on disk, and looked up afterwards.

A table of encodings becomes part of a network, not the pretrained model. The table is no parameter and is not stored in
checkpoints.

Encodings are cached on disk: safetensors files in a folder, which are written whole and never changed. A file holds a
batch of sentences, and its name is a hash of them. So processes that encode the same batch at the same time write the
same file, processes with different batches write different files, and no process waits. The folder belongs to one
encoder with one padding.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import safetensors.torch
import torch
from rich.progress import track
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from rl_models.errors import InputError
from rl_models.runtime.device import longest
from rl_models.text.pretrained import PretrainedEncoder

FOLDER_VARIABLE = "CONCORD_ENCODINGS"
"""Environment variable that names the folder of all encodings, one that workers share."""

_SUFFIX = ".safetensors"


class EncodingCacheError(InputError):
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


SENTENCES_AT_ONCE = 32


class FrozenEncoder(nn.Module):
    """A table of encodings. The sentences are concatenated, so short sentences need no padding.

    Attributes:
        num_sentences, features, length: as `SentenceEncoder` has them.
    """

    def __init__(self, encodings: Sequence[Tensor]) -> None:
        """Build the table.

        Args:
            encodings: encoding of every sentence, [L, F] float32.
        """
        super().__init__()
        lengths = torch.tensor([len(encoding) for encoding in encodings])
        self.num_sentences = len(encodings)
        self.length, self.features = int(lengths.max()), encodings[0].shape[1]
        self.states: Tensor
        self.lengths: Tensor
        self.first: Tensor
        self.register_buffer("states", torch.cat(list(encodings)), persistent=False)
        self.register_buffer("lengths", lengths, persistent=False)
        self.register_buffer("first", lengths.cumsum(0) - lengths, persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers [U] int -> states [U, l, F] float32 and lengths [U] int64."""
        lengths, first = self.lengths[ids.long()], self.first[ids.long()]
        position = torch.arange(longest(lengths, self.length), device=ids.device)
        rows = first[:, None] + torch.minimum(position, lengths[:, None] - 1)
        return self.states[rows], lengths


def frozen_encoder(encoder: PretrainedEncoder, sentences: Sequence[str], folder: Path | None = None) -> FrozenEncoder:
    """Build the table of these sentences: read encodings from disk, encode the other sentences and write them.

    Args:
        encoder: encoder of the sentences.
        sentences: D sentences.
        folder: folder of all encodings; by default the one that `CONCORD_ENCODINGS` names, or one in the user's cache.

    Raises:
        PretrainedError: the encoder cannot be loaded, and not all encodings are on disk.
        EncodingCacheError: a file of encodings is damaged or cannot be written.
    """
    cache = EncodingCache((folder or default_folder()) / encoder.identity)
    found = cache.find(dict.fromkeys(sentences))
    new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in found]
    batches = [new[first : first + SENTENCES_AT_ONCE] for first in range(0, len(new), SENTENCES_AT_ONCE)]
    title = f"encoding {len(new)} sentences with {encoder.name}"
    for batch in track(batches, title, disable=not batches):
        encoded = dict(zip(batch, encoder.encode(batch), strict=True))
        cache.add(encoded)
        found |= encoded
    return FrozenEncoder([found[sentence] for sentence in sentences])


def default_folder() -> Path:
    """The folder of encodings if no other is given."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder).expanduser() if folder else Path.home() / ".cache" / "concord" / "encodings"
