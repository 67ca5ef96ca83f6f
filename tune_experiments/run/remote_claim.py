"""One run at a time in an object store: a claim that a run renews while it lives.

Stores have no locks. A run writes a hidden file, its claim, and renews it every few seconds. A run that finds
another's claim looks at it for a while. If it changes, its run lives, and the newcomer is refused. If it does not, its
run has died, and the newcomer takes the claim over. So no clocks are compared, and no list of processes is needed.

Limits: a run that was killed is continued a minute later at the earliest. Two runs that begin in the same second
may both believe that they have the claim; the one that loses it notices this when it renews the claim, and sends
nothing more. The same holds for a run that was suspended for longer than a minute. The claim is the run's own: trials
do not look at it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from typing import Any

from tune_experiments.core.errors import UserError
from tune_experiments.run.remote_ledger import HiddenFile

__all__ = ["Claim"]

logger = logging.getLogger(__name__)

CLAIM_FILE = ".concord.claim.json"
BEAT_SECONDS = 15.0
PATIENCE_SECONDS = 4 * BEAT_SECONDS
SETTLES_AFTER_SECONDS = 1.0
"""Seconds that a store may need to show one of two runs that begin at once the claim of the other."""


class Claim:
    """A claim on a store; a context manager.

    Args:
        store: a pyarrow file system.
        root: of the run in the store.
        uri: of the run, for sentences.

    Raises:
        UserError: on entering, another run has the claim, or the store cannot be read or written.
    """

    def __init__(self, store: Any, root: str, uri: str) -> None:
        self._uri = uri
        self._own: dict[str, Any] = {
            "owner": uuid.uuid4().hex,
            "process": os.getpid(),
            "host": socket.gethostname(),
            "beat": 0,
        }
        self._file = HiddenFile(store, root, uri, CLAIM_FILE, self._own)
        self._over, self._is_lost = threading.Event(), False
        self._beats = threading.Thread(target=self._renew, name="claim", daemon=True)

    def check(self) -> None:
        """Refuse to go on where another run has taken the claim over.

        Raises:
            UserError: it has.
        """
        if self._is_lost:
            raise UserError(
                f"{self._uri} was taken over by another run, so this one sends nothing more; end one of them"
            )

    def __enter__(self) -> Claim:
        try:
            self._wait_for_the_dead()
            self._file.write(self._own)
            time.sleep(SETTLES_AFTER_SECONDS)
            found = self._file.read()
        except OSError as error:
            advice = "give --out a store that you may write to, or see to this one, and run again"
            raise UserError(f"{self._uri} cannot be written ({str(error)[:200]}); {advice}") from error
        if found is not None and not self._is_own(found):
            raise self._refusal(found)
        self._beats.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._beats.join()
        try:
            found = self._file.read()
            if found is not None and self._is_own(found):
                self._file.delete()
        except (OSError, UserError) as error:
            logger.warning("%s stays claimed for %.0f seconds (%s)", self._uri, PATIENCE_SECONDS, error)

    def _wait_for_the_dead(self) -> None:
        """Return when there is no claim, or its owner does not renew it."""
        found = self._file.read()
        if found is None:
            return
        logger.warning("%s was not given back; looking for %.0f seconds who has it", self._uri, PATIENCE_SECONDS)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(min(1.0, BEAT_SECONDS))
            now = self._file.read()
            if now is None:
                return
            if now != found:
                raise self._refusal(now)

    def _renew(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            try:
                found = self._file.read()
                if found is not None and not self._is_own(found):
                    self._is_lost = True
                    logger.error("%s was taken over by process %s on %s", self._uri, found["process"], found["host"])
                    return
                self._own["beat"] += 1
                self._file.write(self._own)
            except (OSError, UserError) as error:  # the store is away: the next beat tries again
                logger.debug("the claim on %s is not renewed (%s)", self._uri, error)

    def _refusal(self, found: dict[str, Any]) -> UserError:
        who = f"process {found['process']} on {found['host']}"
        return UserError(f"{self._uri} is in use by {who}; wait for it, end it, or give --out another place")

    def _is_own(self, found: dict[str, Any]) -> bool:
        return bool(found["owner"] == self._own["owner"])
