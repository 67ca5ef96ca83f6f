"""A record of every exchange on disk, which is also the cache, and from which a run repeats without a network.

One JSON object a line: `key` (SHA-256 of what was sent), `stage`, `request`, and `reply` or `failure`. A line is
appended as soon as its answer is there, so a run that is killed loses only calls in flight; half a line at the end is
cut off before anything is added. Several processes may write one record: each line is written, and half a line cut off,
while the file is locked, so what is cut off is nobody's who still writes. A long text that comes again, such
as an instruction, stands there once and then as its SHA-256: the key is what answers. This file must not know who
answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import defaultdict, deque
from pathlib import Path
from typing import IO, Any

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome, Transport, outcome_from_json
from rl_models.file_lock import hold_open_file

_LONG_TEXT = 500


class RecordError(ValueError):
    """A record cannot be used; the sentence says which, where and how to mend it."""


class Recorded:
    """A `Transport` that answers equal requests once, and writes down what another transport says.

    Only replies are reused: a failure is written, and the next equal request is sent again.
    """

    def __init__(self, path: Path, transport: Transport) -> None:
        """Continue the record at `path`, or begin one.

        Raises:
            RecordError: the file holds something else, or cannot be written.
        """
        self._transport = transport
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()
        self._told: set[str] = set()
        known = read_record(path, drops_torn_end=True) if path.exists() else []
        self._replies = {key: outcome for key, outcome in known if isinstance(outcome, ChatReply)}
        self.hits = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise RecordError(f"the record {path} cannot be written ({error.strerror}): choose another path") from None

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer from the record, or ask and write it down; equal requests at the same time wait for one answer."""
        with self._lock:
            lock = self._locks[request.key]
        with lock:
            if (known := self._replies.get(request.key)) is not None:
                self.hits += 1
                return known
            outcome = self._transport.complete(request)
            self._append(request, outcome)
            return outcome

    def _append(self, request: ChatRequest, outcome: Outcome) -> None:
        line: dict[str, Any] = {"key": request.key, "stage": request.stage}
        if isinstance(outcome, ChatReply):
            line["reply"] = outcome.as_json()
        else:
            line["failure"] = outcome.reason
        with self._lock:
            line["request"] = self._shortened(request.sent())
            _append_line(self._file, json.dumps(line).encode() + b"\n")
            if isinstance(outcome, ChatReply):
                self._replies[request.key] = outcome

    def _shortened(self, sent: dict[str, Any]) -> dict[str, Any]:
        for message in sent["messages"]:
            digest = hashlib.sha256(message["content"].encode()).hexdigest()
            if digest in self._told:
                message["content"] = f"as before: {digest}"
            elif len(message["content"]) > _LONG_TEXT:
                self._told.add(digest)
        return sent


class Replay:
    """A `Transport` that answers from a record alone: for each request, its outcomes in the order they came."""

    def __init__(self, path: Path) -> None:
        """Read a record.

        Raises:
            RecordError: there is none, or it is damaged.
        """
        self._path = path
        self._lock = threading.Lock()
        self._outcomes: dict[str, deque[Outcome]] = defaultdict(deque)
        for key, outcome in read_record(path, drops_torn_end=False):
            self._outcomes[key].append(outcome)

    def complete(self, request: ChatRequest) -> Outcome:
        """The next recorded outcome; the last one stays."""
        with self._lock:
            outcomes = self._outcomes.get(request.key)
            if not outcomes:
                return ChatFailure(f"the record {self._path.name} does not hold this request")
            return outcomes.popleft() if len(outcomes) > 1 else outcomes[0]


class LastReplies:
    """A `Transport` that answers from a record alone: to each request the last reply in it.

    Unlike `Replay` it does not begin where the run began, whose first tries may have failed.
    """

    def __init__(self, path: Path) -> None:
        """Read a record.

        Raises:
            RecordError: there is none, or it is damaged.
        """
        known = read_record(path, drops_torn_end=False)
        self._replies = {key: outcome for key, outcome in known if isinstance(outcome, ChatReply)}

    def complete(self, request: ChatRequest) -> Outcome:
        """The reply, or a failure where there was none."""
        return self._replies.get(request.key) or ChatFailure("the record holds no reply to this request")


def read_record(path: Path, drops_torn_end: bool) -> list[tuple[str, Outcome]]:
    """All outcomes of a record with their keys, in order.

    Args:
        path: the file.
        drops_torn_end: cut off half a line that a killed process left, instead of passing over it.

    Raises:
        RecordError: it cannot be read, or a whole line is not of a record.
    """
    try:
        whole = _whole_lines(path) if drops_torn_end else _until_last_end(path.read_bytes())
    except OSError as error:
        raise RecordError(f"the record {path} cannot be read ({error.strerror}): check the path") from None
    return [_read_line(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def _whole_lines(path: Path) -> bytes:
    """What a file holds once half a line at its end is gone; whoever is writing one has ended before."""
    with path.open("r+b", buffering=0) as file, hold_open_file(file):
        return os.pread(file.fileno(), _cut_half_a_line(file), 0)


def _cut_half_a_line(file: IO[bytes]) -> int:
    """Remove what somebody who was killed left at the end of a locked file; the bytes that stay."""
    size = os.fstat(file.fileno()).st_size
    if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
        size = len(_until_last_end(os.pread(file.fileno(), size, 0)))
        file.truncate(size)
    return size


def _until_last_end(raw: bytes) -> bytes:
    return raw[: raw.rfind(b"\n") + 1]


def _append_line(file: IO[bytes], line: bytes) -> None:
    """Add a whole line to an unbuffered file, or nothing: a full disk takes part of a line and then fails."""
    with hold_open_file(file):
        size = _cut_half_a_line(file)
        if file.write(line) != len(line):
            file.truncate(size)
            raise OSError(f"the record {file.name} takes no more: free its disk")


def _read_line(path: Path, number: int, line: bytes) -> tuple[str, Outcome]:
    try:
        document = json.loads(line.decode("utf-8"))
        if not isinstance(document, dict) or not isinstance(document.get("key"), str):
            raise ValueError("holds no key")
        return document["key"], outcome_from_json(document)
    except (ValueError, RecursionError):
        raise RecordError(
            f"line {number} of the record {path} is not of a record: delete that line, and it is asked again"
        ) from None
