"""A run whose results live in an object store: `--out s3://bucket/run`, `gs://...`, or any URI that pyarrow knows.

Checkpoints and logs need what object stores lack (renames, appending, fsync), so a run works in a folder of its own
machine, and the store holds a copy that is brought up to date whenever there is a new checkpoint. The copy is the
truth: whoever continues starts from it in an empty folder. Files of a checkpoint are sent before the state.json that
vouches for them, so a copy that was cut off is one that no reader takes for whole.
"""

from __future__ import annotations

import logging
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tune_experiments.experiment.errors import UserError
from tune_experiments.run.run_folder import RunFolder

__all__ = ["Mirror", "mirrored_folder", "open_run", "uri_of"]

logger = logging.getLogger(__name__)

_URI = re.compile(r"(file|s3|gs|gcs|hdfs|abfs|abfss):/+(.+)")
PATIENCE_SECONDS = 3600.0
_RETRIES_AFTER_SECONDS = 10.0
Stamp = tuple[int, int]
"""Size and time of modification of a file, in nanoseconds."""


def uri_of(out: Path | str) -> str | None:
    """The URI that a path on the command line stands for, or None; `Path` makes one slash of two."""
    found = _URI.fullmatch(str(out))
    return None if found is None else f"{found[1]}://{'/' if found[1] == 'file' else ''}{found[2]}"


@contextmanager
def open_run(
    out: Path, config_json: Mapping[str, Any], experiment: str, seeds: Sequence[int]
) -> Iterator[tuple[RunFolder, Mirror | None]]:
    """`RunFolder.open` for a folder or a URI; with the copy, where there is one.

    Trials send what is theirs themselves, from wherever they run; Ray's own bookkeeping is not kept.
    """
    uri = uri_of(out)
    if uri is None:
        with RunFolder.open(out, config_json, experiment, seeds) as folder:
            yield folder, None
        return
    with (
        mirrored_folder(uri, others=("trials/", "tune/")) as (path, mirror),
        RunFolder.open(path, config_json, experiment, seeds) as folder,
    ):
        mirror.push()  # the run's configuration stands before its trials, or nobody could continue them
        yield folder, mirror


@contextmanager
def mirrored_folder(uri: str, others: tuple[str, ...] = ()) -> Iterator[tuple[Path, Mirror]]:
    """A temporary folder with what the store holds; what is in it at the end is sent."""
    with tempfile.TemporaryDirectory(prefix="concord_") as name:
        mirror = Mirror(Path(name), uri, others)
        mirror.pull()
        try:
            yield Path(name), mirror
        except BaseException:
            mirror.push()
            raise
        mirror.push_at_last()


class Mirror:
    """A folder and its copy in a store.

    Args:
        folder: on this machine.
        uri: of the copy.
        others: beginnings of names that somebody else sends; they are fetched only.

    Raises:
        UserError: no such kind of store, or one that does not let us in.
    """

    def __init__(self, folder: Path, uri: str, others: tuple[str, ...] = ()) -> None:
        from pyarrow import fs

        self.uri, self._folder, self._others = uri, folder, others
        self._sent: dict[str, Stamp] = {}
        self._fetched: dict[str, Stamp] = {}
        try:
            self._store, self._root = fs.FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            raise UserError(f"{uri} cannot be opened ({_line(error)}); correct it or name a folder") from error

    def pull(self) -> None:
        """Fetch what is new in the store.

        Raises:
            UserError: it does not answer.
        """
        try:
            for name, stamp in self._there().items():
                if self._fetched.get(name) != stamp:
                    path = self._folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with self._store.open_input_stream(f"{self._root}/{name}") as source:
                        path.write_bytes(source.read())
                    self._fetched[name], self._sent[name] = stamp, _stamp(path)
        except OSError as error:
            raise UserError(f"{self.uri} cannot be read ({_line(error)}); see to the store and run again") from error

    def push(self) -> bool:
        """Bring the copy up to date; False, and a warning, if the store is away: the next call sends it all."""
        try:
            here = {name: _stamp(self._folder / name) for name in self._own(_files(self._folder))}
            # state.json last: it says that a checkpoint's other files are whole.
            for name in sorted(here, key=lambda name: (name.endswith("state.json"), name)):
                if self._sent.get(name) != here[name]:
                    self._send(name)
                    self._sent[name] = here[name]
            for name in set(self._own(self._there())) - set(here):
                self._store.delete_file(f"{self._root}/{name}")
                self._sent.pop(name, None)
        except OSError as error:
            logger.warning("%s is not up to date (%s); it will be tried again", self.uri, _line(error))
            return False
        return True

    def push_at_last(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Bring the copy up to date before the folder is given up.

        Raises:
            OSError: the store has stayed away too long.
        """
        deadline = time.monotonic() + patience_seconds
        while not self.push():
            if time.monotonic() > deadline:
                raise OSError(f"{self.uri} could not be written for {patience_seconds / 60:.0f} minutes")
            time.sleep(_RETRIES_AFTER_SECONDS)

    def _own(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if not name.startswith(self._others)]

    def _send(self, name: str) -> None:
        self._store.create_dir(str(Path(f"{self._root}/{name}").parent), recursive=True)
        with self._store.open_output_stream(f"{self._root}/{name}") as sink:
            sink.write((self._folder / name).read_bytes())

    def _there(self) -> dict[str, Stamp]:
        """Of the copy's files."""
        from pyarrow import fs

        selector = fs.FileSelector(self._root, recursive=True, allow_not_found=True)
        found: list[Any] = self._store.get_file_info(selector)
        return {one.path[len(self._root) :].lstrip("/"): (one.size, one.mtime_ns or 0) for one in found if one.is_file}


def _files(folder: Path) -> list[str]:
    """Names of all files that are no one's scratch: hidden files and folders are left out."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)]


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
