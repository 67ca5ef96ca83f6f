"""Record of all exchanges on disk. It is also a cache, and a run can be repeated from it without a network.

Each line is a JSON object: `key` (SHA-256 of the request), `stage`, `request`, `reply` or `failure`, and `address`, a
hash of the server's, if there is a server: answers of another one are replayed, but not reused. A line is appended as
soon as its answer comes, so a killed run loses pending calls only; an incomplete line at the end is removed
before the next line is written. Several processes may write one record: lines are written and removed while the file is
locked, so no process removes a line that another one is writing. A long text that occurs again, such as an instruction,
is stored once and afterwards as its SHA-256, because only the key is needed for an answer.
"""

import hashlib
import json
import os
import threading
import warnings
from collections import defaultdict, deque
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome, Transport, outcome_from_json
from rl_models.errors import InputError
from rl_models.file_lock import hold_open_file

_LONG_TEXT = 500


class RecordError(InputError):
    """A record cannot be used; the message says which one, where, and how to fix it."""


class Recorded:
    """A `Transport` that records the answers of another transport, and sends equal requests only once.

    Only replies are reused, and only those of the same server. After a recorded failure the next equal request is sent
    again.
    """

    def __init__(self, path: Path, transport: Transport, address: str = "") -> None:
        """Open the record at `path`, or create it; `address` names the transport's server or weights, if it has any.

        Raises RecordError where the file is no record, or cannot be written.
        """
        self._transport, self._address = transport, address
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()
        self._stored_texts: set[str] = set()
        known = read_record(path, ignores_incomplete_line=True) if path.exists() else []
        mine = [(key, outcome) for key, outcome, server in known if server == address]
        self._replies = {key: outcome for key, outcome in mine if isinstance(outcome, ChatReply)}
        if len(mine) < len(known):
            warnings.warn(
                f"{len(known) - len(mine)} of {len(known)} exchanges in {path} are with another server or other "
                "weights, or with unknown ones: their answers are not reused, and their questions are asked again",
                stacklevel=2,
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise RecordError(f"the record {path} cannot be written ({error.strerror}): choose another path") from None

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer from the record, or send the request and record the answer; equal requests wait for one answer."""
        with self._lock:
            lock = self._locks[request.key]
        with lock:
            if (known := self._replies.get(request.key)) is not None:
                return known
            outcome = self._transport.complete(request)
            self._append(request, outcome)
            return outcome

    def _append(self, request: ChatRequest, outcome: Outcome) -> None:
        line: dict[str, Any] = {"key": request.key, "stage": request.stage}
        if isinstance(outcome, ChatReply):
            line["reply"] = {name: value for name, value in vars(outcome).items() if name != "is_recorded"}
        else:
            line["failure"] = outcome.reason
        if self._address:
            line["address"] = self._address
        with self._lock:
            line["request"] = self._shortened(request.sent())
            _append_line(self._file, json.dumps(line).encode() + b"\n")
            if isinstance(outcome, ChatReply):
                self._replies[request.key] = replace(outcome, is_recorded=True)

    def _shortened(self, sent: dict[str, Any]) -> dict[str, Any]:
        for message in sent["messages"]:
            digest = hashlib.sha256(message["content"].encode()).hexdigest()
            if digest in self._stored_texts:
                message["content"] = f"as before: {digest}"
            elif len(message["content"]) > _LONG_TEXT:
                self._stored_texts.add(digest)
        return sent


class Replay:
    """A `Transport` that answers from a record: each request gets its recorded outcomes in their order."""

    def __init__(self, path: Path, otherwise: Transport | None = None, address: str = "") -> None:
        """Read the record; `otherwise` answers requests that it does not hold, which fail if there is none.

        With the `address` of the present server or weights it warns of answers that another one gave. Raises
        RecordError where the record does not exist or is damaged.
        """
        self._path, self._otherwise = path, otherwise
        self._lock = threading.Lock()
        self._outcomes: dict[str, deque[Outcome]] = defaultdict(deque)
        known = read_record(path, ignores_incomplete_line=False)
        for key, outcome, _ in known:
            self._outcomes[key].append(outcome)
        if address and (others := sum(server not in ("", address) for _, _, server in known)):
            warnings.warn(
                f"{others} of {len(known)} exchanges in {path} are with other weights than the model has now: they are "
                "replayed as they were; leave the replay out to ask the present model",
                stacklevel=2,
            )

    def complete(self, request: ChatRequest) -> Outcome:
        """The next recorded outcome; the last one is repeated."""
        with self._lock:
            outcomes = self._outcomes.get(request.key)
            if outcomes:
                return outcomes.popleft() if len(outcomes) > 1 else outcomes[0]
        if self._otherwise is not None:
            return self._otherwise.complete(request)
        return ChatFailure(f"the record {self._path.name} does not hold this request", is_recorded=True)


class LastReplies:
    """A `Transport` that answers from a record only: each request gets its last recorded reply.

    Unlike `Replay` it does not repeat the failures before that reply. It warns where the record holds none.
    """

    def __init__(self, path: Path) -> None:
        """Read the record; raises RecordError where it does not exist or is damaged."""
        self._path, known = path, read_record(path, ignores_incomplete_line=False)
        self._replies = {key: outcome for key, outcome, _ in known if isinstance(outcome, ChatReply)}

    def complete(self, request: ChatRequest) -> Outcome:
        """The last recorded reply, or a failure if there is none."""
        if (reply := self._replies.get(request.key)) is not None:
            return reply
        message = f"{self._path} holds no reply to some questions; their fallback answers are used"
        warnings.warn(message, stacklevel=2)
        return ChatFailure("the record holds no reply to this request", is_recorded=True)


def read_record(path: Path, ignores_incomplete_line: bool) -> list[tuple[str, Outcome, str]]:
    """All outcomes of a record with their keys and the addresses of their servers, in order.

    An incomplete last line of a killed process is skipped, or with `ignores_incomplete_line` removed from the file.
    Raises RecordError where the file cannot be read, or a complete line is not a line of a record.
    """
    try:
        whole = _whole_lines(path) if ignores_incomplete_line else _until_last_end(path.read_bytes())
    except OSError as error:
        raise RecordError(f"the record {path} cannot be read ({error.strerror}): check the path") from None
    return [_read_line(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def _whole_lines(path: Path) -> bytes:
    """Content of a file after its incomplete last line is removed. The lock waits for processes that write a line."""
    with path.open("r+b", buffering=0) as file, hold_open_file(file):
        return os.pread(file.fileno(), _remove_incomplete_line(file), 0)


def _remove_incomplete_line(file: IO[bytes]) -> int:
    """Remove the incomplete last line of a killed process from a locked file; returns the new size in bytes."""
    size = os.fstat(file.fileno()).st_size
    if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
        size = len(_until_last_end(os.pread(file.fileno(), size, 0)))
        file.truncate(size)
    return size


def _until_last_end(raw: bytes) -> bytes:
    return raw[: raw.rfind(b"\n") + 1]


def _append_line(file: IO[bytes], line: bytes) -> None:
    """Append a whole line to an unbuffered file, or nothing. A full disk takes part of a line before it fails."""
    with hold_open_file(file):
        size = _remove_incomplete_line(file)
        if file.write(line) != len(line):
            file.truncate(size)
            raise OSError(f"the record {file.name} cannot grow because its disk is full: free disk space")


def _read_line(path: Path, number: int, line: bytes) -> tuple[str, Outcome, str]:
    try:
        document = json.loads(line.decode("utf-8"))
        if not isinstance(document, dict) or not isinstance(document.get("key"), str):
            raise ValueError("holds no key")
        return document["key"], outcome_from_json(document), str(document.get("address", ""))
    except (ValueError, RecursionError):
        raise RecordError(
            f"line {number} of the record {path} is not a line of a record: delete it, and the request is sent again"
        ) from None
