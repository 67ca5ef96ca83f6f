"""Hidden files of a run in an object store, and the ledger: what this run has sent there and may delete again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tune_experiments.core.errors import UserError

__all__ = ["HiddenFile", "Ledger"]

LEDGER_FILE = ".concord.sent.json"
_DELETED_BY_TRIALS = re.compile(r"checkpoints/checkpoint_\d+/[^/]+|events\.out\.tfevents\.\d+\.\d+")


class HiddenFile:
    """A small JSON file of ours in a store.

    Args:
        store: a pyarrow file system.
        folder: of the store.
        uri: of the folder, for sentences.
        name: of the file.
        keys: of the object that it holds.
    """

    def __init__(self, store: Any, folder: str, uri: str, name: str, keys: Iterable[str]) -> None:
        self._store, self._folder, self._path = store, folder, f"{folder}/{name}"
        self._uri, self._keys = f"{uri}/{name}", set(keys)

    def read(self) -> dict[str, Any] | None:
        """Contents of the file; None if it does not exist.

        Raises:
            OSError: the store does not answer.
            UserError: a file of others has its name.
        """
        try:
            with self._store.open_input_stream(self._path) as source:
                text = source.read()
        except FileNotFoundError:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict) and found.keys() == self._keys:
            return found
        raise UserError(f"{self._uri} is not a file of a run; move it away or give --out another place")

    def write(self, content: dict[str, Any]) -> None:
        """Write it anew, at once: a reader finds the old one or the new one.

        Raises:
            OSError: the store does not answer.
        """
        self._store.create_dir(self._folder, recursive=True)
        with self._store.open_output_stream(f"{self._path}.new") as sink:
            sink.write(json.dumps(content).encode())
        self._store.move(f"{self._path}.new", self._path)

    def delete(self) -> None:
        """Delete it.

        Raises:
            OSError: the store does not answer.
        """
        self._store.delete_file(self._path)


class Ledger:
    """Names of the kinds that trials delete (files of checkpoints, event files, pictures of the log) and have sent."""

    def __init__(self, store: Any, folder: str, uri: str) -> None:
        self._file = HiddenFile(store, folder, uri, LEDGER_FILE, ("sent",))
        self._names: set[str] | None = None

    def names(self) -> set[str]:
        """All noted names; the store is asked once.

        Raises:
            OSError: the store does not answer.
            UserError: a file of others has the ledger's name.
        """
        if self._names is None:
            self._names = set((self._file.read() or {"sent": ()})["sent"])
        return self._names

    def add(self, names: Iterable[str]) -> None:
        """Note names that are about to be sent; other kinds are left out.

        Raises:
            OSError: the store does not answer.
        """
        self._write(self.names() | set(filter(_DELETED_BY_TRIALS.fullmatch, names)))

    def remove(self, names: Iterable[str]) -> None:
        """Forget names that were deleted.

        Raises:
            OSError: the store does not answer.
        """
        self._write(self.names() - set(names))

    def _write(self, names: set[str]) -> None:
        if names != self._names:
            self._file.write({"sent": sorted(names)})
            self._names = names
