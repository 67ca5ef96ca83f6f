"""A reward function in a process of its own: started, called, timed, and killed at the first failure."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_models.planners.sandbox.rules import check_source

WORKER = Path(__file__).with_name("worker.py")
"""Program of the process."""


class RewardFailedError(Exception):
    """The function gave no rewards; the text is a clause that says why."""


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Limits on memory and time of a reward function."""

    memory_bytes: int = 256 * 2**20
    cpu_seconds_per_call: float = 0.2
    """Largest CPU time of one call in seconds, for all pairs of the call. The sum of all calls has no limit."""
    answer_seconds: float = 20.0
    """Wall-clock time; generous, because it only has to stop a process that hangs."""


class SandboxedReward:
    """One function in its process. Use as a context manager, or `close()` it; after a failure it stays closed.

    If it is not closed, its process ends with this object or with Python.
    """

    def __init__(self, source: str, limits: SandboxLimits | None = None) -> None:
        """Check the source, start the process and send it the source.

        Raises UnsafeCodeError where the source is refused and nothing was started, and RewardFailedError where it
        cannot be loaded.
        """
        check_source(source)
        self.limits = limits or SandboxLimits()
        self._folder = tempfile.TemporaryDirectory(prefix="reward-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={},
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process, self._folder)
        self._exchange({"source": source, "memory_bytes": self.limits.memory_bytes}, max_bytes=100)

    def __enter__(self) -> SandboxedReward:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def evaluate(self, pairs: Sequence[tuple[Any, Any]], checks_arguments: bool = False) -> list[int]:
        """0 or 1 for each pair (previous, current) of JSON values; RewardFailedError, and the process is gone."""
        order = {
            "pairs": [list(pair) for pair in pairs],
            "checks_arguments": checks_arguments,
            "cpu_seconds": self.limits.cpu_seconds_per_call,
        }
        answer = self._exchange(order, max_bytes=200 + 4 * len(pairs))
        values = answer.get("values")
        if not isinstance(values, list) or len(values) != len(pairs) or any(value not in (0, 1) for value in values):
            self.close()
            raise RewardFailedError(str(answer.get("error", "it gave no rewards"))[:200])
        return values

    def close(self) -> None:
        """End the process and whatever it could have started."""
        self._end()

    def _exchange(self, line: dict[str, Any], max_bytes: int) -> dict[str, Any]:
        if self._process.stdin is None or self._process.stdin.closed:
            raise RewardFailedError("it has failed before")
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
            answer = json.loads(self._read_line(max_bytes))
        except (OSError, ValueError, TimeoutError) as error:
            reason = self._why_it_ended(error)
            self.close()
            raise RewardFailedError(reason) from None
        return answer if isinstance(answer, dict) else {}

    def _read_line(self, max_bytes: int) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + self.limits.answer_seconds
        line = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                piece = os.read(self._process.stdout.fileno(), 65_536)
                line += piece
                if not piece or len(line) > max_bytes:
                    raise ValueError
        return bytes(line)

    def _why_it_ended(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"it did not answer within {self.limits.answer_seconds:g} seconds"
        with contextlib.suppress(subprocess.TimeoutExpired):
            # A broken pipe arrives before the process has been collected, on a busy machine long before.
            self._process.wait(self.limits.answer_seconds)
        if self._process.returncode in (-signal.SIGPROF, -signal.SIGKILL):
            return f"it used more than {self.limits.cpu_seconds_per_call:g} seconds of CPU time"
        return "its process ended"


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    folder.cleanup()
