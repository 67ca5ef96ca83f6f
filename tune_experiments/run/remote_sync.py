"""A run whose results live in an object store: `--out s3://bucket/run`, or another URI of `core/storage_uri.py`.

Checkpoints and logs need what object stores lack (renames, appending, fsync), so a run works in a folder of its own
machine, and the store holds a copy that is brought up to date whenever there is a new checkpoint. The copy is the
truth: a run that continues starts from it in an empty folder. Files of a checkpoint are sent before the state.json that
vouches for them, so a copy that was cut off is one that no reader takes for whole.

What others keep in the store stays as it is. A run looks at config.json first. If that is of another run, or there is
none beside visible files, the run refuses: it fetches and sends nothing. One run at a time has a claim on the store
(`remote_claim.py`). Hidden names are never fetched, sent or deleted, but for the claim and a ledger. The ledger of a
folder names what this run has sent of the kinds that trials delete: files of checkpoints, event files, pictures of the
log. A name is deleted only if it stands there and the trial has deleted the file in its folder. The ledger is written
before the files are sent, so a run that is killed knows them, and any machine can continue it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tune_experiments.core.continued import Rules
from tune_experiments.core.errors import StoreUnavailableError, UserError, first_line
from tune_experiments.core.storage_uri import uri_of
from tune_experiments.run.remote_claim import Claim
from tune_experiments.run.remote_ledger import Ledger
from tune_experiments.run.run_folder import CONFIG_FILE, RunFolder, check_config, refuse_foreign

__all__ = ["RemoteSync", "open_run", "synced_folder"]

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 3600.0
_RETRIES_AFTER_SECONDS = 10.0
Stamp = tuple[int, int]
"""Size and time of modification of a file, in nanoseconds."""


@contextmanager
def open_run(
    out: Path,
    config_json: Mapping[str, Any],
    experiment: str,
    seeds: Sequence[int],
    rules: Rules = MappingProxyType({}),
) -> Iterator[tuple[RunFolder, RemoteSync | None]]:
    """`RunFolder.open` for a folder or a URI; with the copy, where there is one.

    Trials send what is theirs themselves, from wherever they run; Ray's own bookkeeping is not kept.

    Raises:
        UserError: as `RunFolder.open`, with nothing sent to the store; or nothing can be sent there, or another run
            does so.
    """
    uri = uri_of(out)
    if uri is None:
        with RunFolder.open(out, config_json, experiment, seeds, rules) as folder:
            yield folder, None
        return
    with _temporary_sync(uri, others=("trials/", "tune/")) as sync:
        if sync.pull_config():
            check_config(sync.folder, config_json, experiment, rules, sync.holds_trials())
        with sync.claimed():
            sync.pull()
            with RunFolder.open(sync.folder, config_json, experiment, seeds, rules) as folder:
                sync.push_at_first()  # the run's configuration stands before its trials, or they could not be continued
                with _pushed_at_end(sync):
                    yield folder, sync


@contextmanager
def synced_folder(uri: str) -> Iterator[tuple[Path, RemoteSync]]:
    """A temporary folder with what the store holds; what is in it at the end is sent."""
    with _temporary_sync(uri) as sync:
        sync.pull()
        with _pushed_at_end(sync):
            yield sync.folder, sync


@contextmanager
def _temporary_sync(uri: str, others: tuple[str, ...] = ()) -> Iterator[RemoteSync]:
    """A copy of a temporary folder; what is wrong in the folder is told by the store's name.

    The folder is deleted at the end, unless it is the only copy of what was done: then it stays and the error names it.
    """
    folder, kept = Path(tempfile.mkdtemp(prefix="concord_")).resolve(), ""
    sync = None
    try:
        sync = RemoteSync(folder, uri, others)
        yield sync
    except BaseException as error:
        if sync is not None and sync.is_behind and folder.is_dir():
            kept = f"; what it lacks is kept in {folder} on {socket.gethostname()}: copy that to {uri} and run again"
        if isinstance(error, UserError):
            raise type(error)(str(error).replace(str(folder), uri) + kept) from error
        if kept:
            _tell(error, kept)
        raise
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def _tell(error: BaseException, kept: str) -> None:
    """Add to an error that was raised elsewhere; the last line of a trial's traceback is all that a user sees of it."""
    text = f"{type(error).__name__}: {error}{kept}"
    error.add_note(text)
    logger.error("%s", text)


@contextmanager
def _pushed_at_end(sync: RemoteSync) -> Iterator[None]:
    sync.is_behind = True
    try:
        yield
    except BaseException:
        sync.is_behind = not sync.push()
        raise
    sync.push_at_end()
    sync.is_behind = False


class RemoteSync:
    """A folder and its copy in a store.

    Args:
        folder: on this machine.
        uri: of the copy.
        others: beginnings of names that another process sends; they are fetched only.

    Attributes:
        folder, uri: the same.
        is_behind: the folder may hold what the store lacks, so it must not be deleted.

    Raises:
        UserError: no such kind of store.
        StoreUnavailableError: a store that does not answer or does not let us in.
    """

    def __init__(self, folder: Path, uri: str, others: tuple[str, ...] = ()) -> None:
        from pyarrow import fs

        self.uri, self.folder, self._others = uri, folder, others
        self.is_behind = False
        self._claim: Claim | None = None
        self._sent: dict[str, Stamp] = {}
        self._fetched: dict[str, Stamp] = {}
        try:
            self._store, self._root = fs.FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            raise _error_of(error)(
                f"{uri} cannot be opened ({first_line(error)}); correct it or name a folder"
            ) from error
        self._ledger = Ledger(self._store, self._root, uri)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other runs out of the store.

        Raises:
            UserError: another run is in there.
        """
        with Claim(self._store, self._root, self.uri) as self._claim:
            yield

    def pull_config(self) -> bool:
        """Fetch the run's configuration alone; False if there is none, in a store without visible files.

        Raises:
            UserError: the store holds files but no configuration.
            StoreUnavailableError: it does not answer.
        """
        with self._reading():
            names = [one.base_name for one in self._infos(recursive=False)]
            if CONFIG_FILE in names:
                self._fetch(CONFIG_FILE)
                return True
        refuse_foreign(self.uri, names)
        return False

    def holds_trials(self) -> bool:
        """Whether any trial has sent a file; one that has must keep its flags.

        Raises:
            StoreUnavailableError: it does not answer.
        """
        with self._reading():
            return any(name.startswith("trials/") for name in self._there())

    def pull(self) -> None:
        """Fetch what is new in the store.

        Raises:
            StoreUnavailableError: it does not answer.
        """
        with self._reading():
            for name, stamp in self._there().items():
                if self._fetched.get(name) != stamp:
                    self._sent[name] = self._fetch(name)
                    self._fetched[name] = stamp

    def push(self) -> bool:
        """Bring the copy up to date; False, and a warning, if the store is away: the next call sends it all.

        Raises:
            FileNotFoundError: the folder itself is gone, which does not mean that the run has deleted its files.
            UserError: another run has taken the store over, or a file of others has the ledger's name.
        """
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.uri} cannot be kept up to date, for its folder on this machine is gone")
        try:
            self._bring_up_to_date()
        except OSError as error:
            logger.warning("%s is not up to date (%s); it will be tried again", self.uri, first_line(error))
            return False
        return True

    def push_at_first(self) -> None:
        """Bring the copy up to date before there is anything to lose.

        Raises:
            UserError: the store cannot be written.
        """
        try:
            self._bring_up_to_date()
        except OSError as error:
            advice = "give --out a store that you may write to, or see to this one, and run again"
            raise UserError(f"{self.uri} cannot be written ({first_line(error)}); {advice}") from error

    def push_at_end(self) -> None:
        """Bring the copy up to date before the folder is given up; try for `PATIENCE_SECONDS`.

        Raises:
            UserError: the store has stayed away too long.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.push():
            if time.monotonic() > deadline:
                raise UserError(f"{self.uri} could not be written for {PATIENCE_SECONDS / 60:.0f} minutes")
            time.sleep(_RETRIES_AFTER_SECONDS)

    def _bring_up_to_date(self) -> None:
        """Send what is new, and delete what the ledger names and the folder has no more.

        Raises:
            OSError: the store is away.
            UserError: another run has taken the store over, or a stranger's file has the ledger's name.
        """
        if self._claim is not None:
            self._claim.check()
        found = _stamps(self.folder)
        here = {name: found[name] for name in self._own(found)}
        # state.json last: it says that a checkpoint's other files are whole.
        new = [name for name in sorted(here, key=_state_file_last) if self._sent.get(name) != here[name]]
        self._ledger.add(new)
        for name in new:
            self._send(name)
            self._sent[name] = here[name]
        deleted = (self._ledger.names() & set(self._own(self._sent))) - set(here)
        for name in sorted(deleted, key=_state_file_last):
            with contextlib.suppress(FileNotFoundError):
                self._store.delete_file(f"{self._root}/{name}")
            del self._sent[name]
        self._ledger.remove(deleted)

    def _own(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if not name.startswith(self._others)]

    def _send(self, name: str) -> None:
        self._store.create_dir(str(Path(f"{self._root}/{name}").parent), recursive=True)
        with self._store.open_output_stream(f"{self._root}/{name}") as sink:
            sink.write((self.folder / name).read_bytes())

    def _fetch(self, name: str) -> Stamp:
        """Copy a file from the store to this machine; the stamp of the copy."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._store.open_input_stream(f"{self._root}/{name}") as source:
            path.write_bytes(source.read())
        return _stamp(path)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            sentence = f"{self.uri} cannot be read ({first_line(error)}); see to the store and run again"
            raise _error_of(error)(sentence) from error

    def _there(self) -> dict[str, Stamp]:
        """Stamps of the visible files of the copy, by name."""
        files = (one for one in self._infos(recursive=True) if one.is_file)
        found = {one.path[len(self._root) :].lstrip("/"): (one.size, one.mtime_ns or 0) for one in files}
        return {name: stamp for name, stamp in found.items() if not _is_hidden(name)}

    def _infos(self, recursive: bool) -> list[Any]:
        """File information of the store on its files and folders, as pyarrow gives it."""
        from pyarrow import fs

        selector = fs.FileSelector(self._root, allow_not_found=True, recursive=recursive)
        found: list[Any] = self._store.get_file_info(selector)
        return found


def _stamps(folder: Path) -> dict[str, Stamp]:
    """Stamps of all files but hidden ones and those in hidden folders, which are temporary.

    Raises:
        OSError: a folder cannot be listed, which does not mean that its files are deleted.
    """
    found = {}
    for place, _, names in os.walk(folder, onerror=_raise):
        for path in (Path(place, name) for name in names):
            name = path.relative_to(folder).as_posix()
            with contextlib.suppress(FileNotFoundError):  # it was deleted since it was listed
                if not _is_hidden(name):
                    found[name] = _stamp(path)
    return found


def _error_of(error: Exception) -> type[UserError]:
    """Class to raise for an error of a store: what is missing, or is no address, stays so when a trial starts again."""
    is_away = isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
    return StoreUnavailableError if is_away else UserError


def _raise(error: OSError) -> None:
    raise error


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _state_file_last(name: str) -> tuple[bool, str]:
    """Sorts the file that says that a checkpoint's others are whole behind them."""
    return name.endswith("state.json"), name


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
