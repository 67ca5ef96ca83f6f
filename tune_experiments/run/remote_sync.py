"""A run whose results are in an object store: `--out s3://bucket/run`, or another URI of `core/storage_uri.py`.

A run works in a local folder, which begins as a copy of the store, and uploads new files at each checkpoint. A
checkpoint's state.json is uploaded after its other files; without it the checkpoint is ignored. Nothing in a store is
ever deleted, and a store of another run or with other visible files is refused and left unchanged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rl_models.errors import first_line
from rl_models.training.checkpoint import CheckpointError, check_complete, get_checkpoint_path, load_state
from rl_models.training.checkpoint_files import STATE_FILE
from tune_experiments.core.config_path import Rules
from tune_experiments.core.errors import StoreUnavailableError, UserError
from tune_experiments.core.storage_uri import parse_uri
from tune_experiments.run.curriculum_state import needed_checkpoints
from tune_experiments.run.remote_claim import Claim
from tune_experiments.run.run_folder import (
    CONFIG_FILE,
    TEST_RESULTS_FILE,
    RunFolder,
    check_config,
    check_no_other_files,
)

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 3600.0
RETRY_SECONDS = 10.0
_IN_CHECKPOINT = re.compile(r"((?:.+/)?checkpoints)/checkpoint_(\d{6,18})/.+")
Stamp = tuple[int, int]
"""Size in bytes and time of modification in nanoseconds."""


@contextmanager
def open_run(
    out: Path,
    config_json: Mapping[str, Any],
    experiment: str,
    seeds: Sequence[int],
    rules: Rules = MappingProxyType({}),
) -> Iterator[tuple[RunFolder, RemoteSync | None]]:
    """`RunFolder.open` for a folder or a URI, with the `RemoteSync` of a URI.

    Trials upload their own files; Ray's bookkeeping is not uploaded. A store that is in use, cannot be written or is of
    another run is refused (UserError), with nothing written to it.
    """
    uri = parse_uri(out)
    if uri is None:
        with RunFolder.open(out, config_json, experiment, seeds, rules) as folder:
            yield folder, None
        return
    with _temporary_sync(uri, others=("trials/", "tune/")) as sync:
        sync.check(config_json, experiment, rules)
        with sync.claimed():
            sync.pull()
            with RunFolder.open(sync.folder, config_json, experiment, seeds, rules) as folder, _pushed_at_end(sync):
                if not sync.push():
                    raise UserError(f"{uri} cannot be written; check the store and run again")
                folder.uri = uri
                yield folder, sync


@contextmanager
def synced_folder(uri: str) -> Iterator[tuple[Path, RemoteSync]]:
    """A temporary folder with the content of the store, uploaded at the end."""
    with _temporary_sync(uri) as sync:
        sync.pull()
        with _pushed_at_end(sync):
            yield sync.folder, sync


@contextmanager
def _temporary_sync(uri: str, others: tuple[str, ...] = ()) -> Iterator[RemoteSync]:
    """A temporary folder of a store; errors name the store in place of the folder."""
    folder, kept = Path(tempfile.mkdtemp(prefix="concord_")).resolve(), ""
    sync = None
    try:
        sync = RemoteSync(folder, uri, others)
        yield sync
    except BaseException as error:
        if sync is not None and sync.has_pending_uploads and folder.is_dir():
            place = f"{folder} on {socket.gethostname()}"
            kept = f"; files that were not uploaded are kept in {place}: copy them to {uri} and run again"
        if isinstance(error, UserError):
            raise type(error)(str(error).replace(str(folder), uri) + kept) from error
        if kept:  # users only see the last line of a trial's traceback
            error.add_note(f"{type(error).__name__}: {error}{kept}")
            logger.error("%s", error.__notes__[-1])
        raise
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _pushed_at_end(sync: RemoteSync) -> Iterator[None]:
    sync.has_pending_uploads = True
    try:
        yield
    except BaseException:
        sync.has_pending_uploads = not sync.push()
        raise
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not sync.push():
        if time.monotonic() > deadline:
            raise UserError(f"{sync.uri} could not be written for {TIMEOUT_SECONDS / 60:.0f} minutes")
        time.sleep(RETRY_SECONDS)
    sync.has_pending_uploads = False


class RemoteSync:
    """A local folder and the URI of the store that it is uploaded to.

    While `has_pending_uploads`, the folder may hold files that are not uploaded yet, and must not be deleted.
    """

    def __init__(self, folder: Path, uri: str, others: tuple[str, ...] = ()) -> None:
        from pyarrow import fs

        self.uri, self.folder, self._others = uri, folder, others
        self.has_pending_uploads = False
        self.claim: Claim | None = None
        self._uploaded: dict[str, Stamp] = {}
        with self._store_errors("opened"):
            self._store, self._root = fs.FileSystem.from_uri(uri)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Context that claims the store for this run; UserError if another run uses it."""
        with contextlib.ExitStack() as stack:
            with self._store_errors("written"):
                self.claim = stack.enter_context(Claim(self.read, self.write, self.uri))
            yield

    def check(self, config_json: Mapping[str, Any], experiment: str, rules: Rules) -> None:
        """Check that the store is empty or of this run (UserError); only its config.json is downloaded.

        Raises StoreUnavailableError where the store does not answer.
        """
        with self._store_errors("read"):
            names = self.names(recursive=False)
            if CONFIG_FILE in names:
                self._download(CONFIG_FILE)
        if CONFIG_FILE in names:
            check_config(self.folder, config_json, experiment, rules, is_trained="trials" in names)
        else:
            check_no_other_files(self.uri, names)

    def pull(self, only: str = "") -> None:
        """Download the store; of a trial's checkpoints only the newest complete one and those that it needs.

        Raises StoreUnavailableError where the store does not answer.
        """
        checkpoints: dict[str, dict[int, list[str]]] = {}
        with self._store_errors("read"):
            for name in self.names():
                if name.startswith(only) and (found := _IN_CHECKPOINT.fullmatch(name)):
                    checkpoints.setdefault(found[1], {}).setdefault(int(found[2]), []).append(name)
                elif name.startswith(only):
                    self._download(name)
            for folder, by_step in checkpoints.items():
                self._download_needed(self.folder / folder, by_step)

    def _download_needed(self, folder: Path, by_step: Mapping[int, Sequence[str]]) -> None:
        steps = [step for step, names in by_step.items() if any(name.endswith(f"/{STATE_FILE}") for name in names)]
        for step in sorted(steps, reverse=True):
            for name in by_step[step]:
                self._download(name)
            with contextlib.suppress(CheckpointError):  # damaged: try the previous one
                check_complete(get_checkpoint_path(folder, step), step)
                needed = needed_checkpoints(load_state(get_checkpoint_path(folder, step)))
                for name in (name for one in needed for name in by_step.get(one, ())):
                    self._download(name)
                return

    def push(self) -> bool:
        """Upload new files; False, with a warning, if the store is unavailable, and the next call retries.

        Raises FileNotFoundError if the folder itself is gone, and UserError if another run has replaced the claim.
        """
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.uri} cannot be updated, because its folder on this machine is missing")
        if self.claim is not None:
            self.claim.check()
        try:
            here = {name: stamp for name, stamp in _stamps(self.folder).items() if not name.startswith(self._others)}
            # Last what marks a checkpoint as complete, and then what marks a trial as finished.
            for name in sorted(here, key=lambda name: (*map(name.endswith, (TEST_RESULTS_FILE, STATE_FILE)), name)):
                if self._uploaded.get(name) != here[name]:
                    self.write(name, (self.folder / name).read_bytes())
                    self._uploaded[name] = here[name]
        except OSError as error:
            logger.warning("%s is not up to date (%s); the upload will be repeated", self.uri, first_line(error))
            return False
        return True

    def _download(self, name: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.read(name))
        self._uploaded[name] = file_stamp(path)

    def read(self, name: str) -> bytes:
        """Content of a file of the store."""
        with self._store.open_input_stream(f"{self._root}/{name}") as source:
            content: bytes = source.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the store."""
        self._store.create_dir(str(Path(f"{self._root}/{name}").parent), recursive=True)
        with self._store.open_output_stream(f"{self._root}/{name}") as sink:
            sink.write(content)

    @contextmanager
    def _store_errors(self, what: str) -> Iterator[None]:
        """Turn errors of the store into a UserError, or a StoreUnavailableError if a retry may succeed."""
        try:
            yield
        except (OSError, ValueError) as error:
            stays = isinstance(error, FileNotFoundError | ValueError)
            raise (UserError if stays else StoreUnavailableError)(
                f"{self.uri} cannot be {what} ({first_line(error)}); correct --out or check the store, and run again"
            ) from error

    def names(self, recursive: bool = True) -> list[str]:
        """Names of the visible files of the store; of its top level, with folders, if not `recursive`."""
        from pyarrow import fs

        selector = fs.FileSelector(self._root, allow_not_found=True, recursive=recursive)
        found = [one for one in self._store.get_file_info(selector) if one.is_file or not recursive]
        names = (one.path[len(self._root) :].strip("/") for one in found)
        return [name for name in names if not _is_hidden(name)]


def _stamps(folder: Path) -> dict[str, Stamp]:
    """Stamps of all files, except hidden ones and those in hidden folders, which are temporary."""

    def refuse(error: OSError) -> None:
        raise error

    found = {}
    for place, _, names in os.walk(folder, onerror=refuse):
        for path in (Path(place, name) for name in names):
            name = path.relative_to(folder).as_posix()
            with contextlib.suppress(FileNotFoundError):  # it was deleted since it was listed
                if not _is_hidden(name):
                    found[name] = file_stamp(path)
    return found


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def file_stamp(path: Path) -> Stamp:
    """Size and time of modification of a file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns
