"""One run at a time in an object store, which has no locks: a claim file that a running process renews.

A run that finds another's claim watches it for a minute: if it changes, the second run is refused, else the first one
has been killed. Two runs that begin in the same second notice it at the next renewal, and the loser uploads nothing
more.
"""

import json
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Self

from tune_experiments.core.errors import UserError

logger = logging.getLogger(__name__)

CLAIM_FILE = ".concord.claim.json"
HEARTBEAT_SECONDS = 15.0
TIMEOUT_SECONDS = 4 * HEARTBEAT_SECONDS
PROPAGATION_SECONDS = 1.0
"""Seconds until all clients of a store see a claim that was written."""
_TRIES = 10


class Claim:
    """Lock of a store, renewed while its run lives; a context manager.

    Entering raises UserError if another run has the claim or another file has its name, and OSError if the store cannot
    be used.
    """

    def __init__(self, read: Callable[[str], bytes], write: Callable[[str, bytes], None], uri: str) -> None:
        self._read_file, self._write_file, self._uri = read, write, uri
        whose = {"owner": uuid.uuid4().hex, "process": os.getpid(), "host": socket.gethostname()}
        self._own: dict[str, Any] = whose | {"beat": 0, "is_over": False}
        self._over = threading.Event()
        self._lost: UserError | None = None
        self.beats = threading.Thread(target=self._renew, name="claim", daemon=True)

    def check(self) -> None:
        """Raise UserError if another run has replaced the claim."""
        if self._lost is not None:
            raise self._lost

    def __enter__(self) -> Self:
        self._refuse_active_owner()
        self._write()
        time.sleep(PROPAGATION_SECONDS)
        self._refuse(self._read())
        self.beats.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.beats.join()
        try:
            self._refuse(self._read())
            self._own["is_over"] = True
            self._write()
        except (OSError, UserError) as error:
            logger.warning("%s remains claimed for %.0f seconds (%s)", self._uri, TIMEOUT_SECONDS, error)

    def _refuse_active_owner(self) -> None:
        found = now = self._read()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        if not found["is_over"]:
            logger.warning(
                "%s is claimed by another run: waiting %.0f seconds to see whether it is alive",
                self._uri,
                TIMEOUT_SECONDS,
            )
        while now == found and not now["is_over"] and time.monotonic() < deadline:
            time.sleep(min(1.0, HEARTBEAT_SECONDS))
            now = self._read()
        if now != found and not now["is_over"]:
            self._refuse(now)

    def _renew(self) -> None:
        while not self._over.wait(HEARTBEAT_SECONDS):
            try:
                self._refuse(self._read())
                self._own["beat"] += 1
                self._write()
            except UserError as error:  # replaced by another run
                logger.error("%s", error)
                self._lost = error
                return
            except OSError as error:  # the store is unavailable: the next renewal tries again
                logger.debug("the claim on %s is not renewed (%s)", self._uri, error)

    def _refuse(self, found: dict[str, Any]) -> None:
        if found["owner"] != self._own["owner"]:
            who = f"process {found['process']} on {found['host']}"
            raise UserError(f"{self._uri} is in use by {who}; wait for it, end it, or use another --out")

    def _read(self) -> dict[str, Any]:
        """The claim in the store, or an expired one if there is none."""
        for _ in range(_TRIES):  # a file system may show it half written for a moment
            try:
                found = json.loads(self._read_file(CLAIM_FILE))
            except FileNotFoundError:
                return self._own | {"is_over": True}
            except ValueError:
                found = None
            if isinstance(found, dict) and found.keys() == self._own.keys():
                return found
            time.sleep(PROPAGATION_SECONDS / _TRIES)
        raise UserError(f"{self._uri}/{CLAIM_FILE} is not a claim of a run; move it or use another --out")

    def _write(self) -> None:
        self._write_file(CLAIM_FILE, json.dumps(self._own).encode())
