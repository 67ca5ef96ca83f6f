"""Encodings on disk: each text is encoded once on a machine, for all processes and runs.

A file holds one text's encoding and is named by a hash of the text; each encoder has its folder. Files are written
atomically, never changed, and carry a hash of their content, so that a damaged one is encoded again. When all encodings
together exceed a limit, the least recently used are deleted, and no other files.
"""

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

from rl_models.errors import InputError
from rl_models.file_lock import hold_lock

FOLDER_VARIABLE = "CONCORD_ENCODINGS"
"""Environment variable that names the folder of all encodings, one that workers share."""
LIMIT_VARIABLE = "CONCORD_ENCODINGS_GIGABYTES"
"""Environment variable with the largest size of that folder."""
DEFAULT_GIGABYTES = 8.0
TEXTS_AT_ONCE = 32
"""Number of texts that are encoded together."""

TIMEOUT_SECONDS = 10.0
"""Longest wait in seconds for another process that encodes."""

Text: TypeAlias = str | tuple[int, ...] | tuple[str, ...]
"""A sentence, the ids of its tokens, or its words."""
_Text = TypeVar("_Text", bound=Text)

_SUFFIX, _PART = ".states", ".part"
_OWN = re.compile(r"[0-9a-f]{32}(\.states|\..*\.part)")
"""Names of the files that this module writes."""
_DIGEST, _HEADER = 16, 20
"""Bytes of the hash, and of the hash and the width."""
_SHARE_BETWEEN_LOOKS = 1 / 16
"""Share of the limit that a process writes before it measures the folder again."""


class EncodingCacheError(InputError):
    """Encodings cannot be read or written; the message names the folder."""


class EncodingCache:
    """The encodings of one encoder, text -> [L, F] float32, and how many texts were asked for and found on disk."""

    def __init__(self, encoder: str, folder: Path | None = None) -> None:
        """Use a folder, which may not exist yet: the given one, or that of `default_folder`, and in it the encoder's.

        Raises EncodingCacheError where `CONCORD_ENCODINGS_GIGABYTES` is no size.
        """
        self._root = folder or default_folder()
        self._folder = self._root / encoder
        self._limit = _limit_in_bytes()
        self._unseen, self._timeout = math.inf, TIMEOUT_SECONDS
        self.asked = self.found = 0

    def get(self, texts: Iterable[_Text], encode: Callable[[Sequence[_Text]], Sequence[Tensor]]) -> dict[_Text, Tensor]:
        """Encodings [L, F] float32 of some texts; those not on disk are computed by one process at a time.

        `encode` computes the encodings [L, F] of a few texts. Raises EncodingCacheError where a file cannot be read, or
        the folder cannot be written to.
        """
        wanted = list(dict.fromkeys(texts))
        known = self._read(wanted)
        missing = [text for text in wanted if text not in known]
        self.asked, self.found = self.asked + len(wanted), self.found + len(known)
        batches = [missing[first : first + TEXTS_AT_ONCE] for first in range(0, len(missing), TEXTS_AT_ONCE)]
        title = f"encoding {len(missing):,} of {len(wanted):,} texts with {self._folder.name}"
        for batch in track(batches, title, disable=len(batches) < 2):
            known |= self._encoded(batch, encode)
        return known

    def _encoded(
        self, batch: Sequence[_Text], encode: Callable[[Sequence[_Text]], Sequence[Tensor]]
    ) -> dict[_Text, Tensor]:
        """Encode texts, unless another process has done so meanwhile."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._turn():
                known = self._read(batch)
                new = [text for text in batch if text not in known]
                self.found += len(known)
                for text, states in zip(new, encode(new) if new else (), strict=True):
                    known[text] = states
                    self._write(self._file(text), _packed(states))
        except OSError as error:
            raise EncodingCacheError(
                f"encodings cannot be written to {self._folder} ({error.strerror or error}); free disk space there, or "
                f"set {FOLDER_VARIABLE} to another folder"
            ) from error
        return known

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for another encoding process up to a timeout, then go on without the lock."""
        with ExitStack() as held:
            try:
                held.enter_context(hold_lock(self._folder / ".lock", self._timeout))
            except TimeoutError:
                self._timeout = 0.0
            yield

    def _read(self, texts: Iterable[_Text]) -> dict[_Text, Tensor]:
        """Valid encodings on disk; marks them as used."""
        known = {}
        for text in texts:
            file = self._file(text)
            try:
                states = _unpacked(file.read_bytes())
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise EncodingCacheError(f"{file} cannot be read ({error.strerror}): check its permissions") from error
            if states is not None:
                known[text] = states
                with suppress(OSError):  # another user's folder, or deleted a moment ago
                    os.utime(file)
        return known

    def _file(self, text: Text) -> Path:
        return self._folder / f"{hashlib.sha256(json.dumps(text).encode()).hexdigest()[:32]}{_SUFFIX}"

    def _write(self, file: Path, content: bytes) -> None:
        """Write a temporary file in the same folder, then rename it: a crash leaves no incomplete file."""
        descriptor, part = tempfile.mkstemp(prefix=f"{file.stem}.", suffix=_PART, dir=file.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            os.chmod(part, file.parent.stat().st_mode & 0o666)  # read by those who may read the folder
            with suppress(FileNotFoundError):  # another process has deleted it, because the folder is full
                os.replace(part, file)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
        self._unseen += len(content)
        if self._unseen > self._limit * _SHARE_BETWEEN_LOOKS:
            self._shrink(self._limit * (1 - _SHARE_BETWEEN_LOOKS))
            self._unseen = 0

    def _shrink(self, most: float) -> None:
        """Delete the files of all encoders that were used longest ago, until the rest takes at most so many bytes."""
        files = []
        for file in self._root.glob("*/*"):
            if _OWN.fullmatch(file.name):
                with suppress(FileNotFoundError):
                    found = file.stat()
                    files.append((found.st_mtime_ns, found.st_size, file))
        total = sum(size for _, size, _ in files)
        for _, size, file in sorted(files):
            if total <= most:
                break
            with suppress(OSError):  # another user's
                file.unlink(missing_ok=True)
                total -= size


def default_folder() -> Path:
    """The folder of encodings if no other is given."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder).expanduser() if folder else Path.home() / ".cache" / "concord" / "encodings"


def _limit_in_bytes() -> float:
    given = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_GIGABYTES)
    with suppress(ValueError):
        if float(given) > 0:
            return float(given) * 1e9
    raise EncodingCacheError(f"{LIMIT_VARIABLE} must be a number of gigabytes above 0, not {given!r}")


def _packed(states: Tensor) -> bytes:
    """Hash, width and numbers of an encoding [L, F] float32."""
    content = np.uint32(states.shape[1]).astype("<u4").tobytes() + states.cpu().numpy().astype("<f4").tobytes()
    return hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def _unpacked(packed: bytes) -> Tensor | None:
    """The encoding that was packed; None if the file is damaged."""
    if len(packed) < _HEADER or hashlib.blake2b(packed[_DIGEST:], digest_size=_DIGEST).digest() != packed[:_DIGEST]:
        return None
    (width,) = np.frombuffer(packed[_DIGEST:_HEADER], "<u4")
    return torch.from_numpy(np.frombuffer(packed[_HEADER:], "<f4").astype(np.float32).reshape(-1, width))
