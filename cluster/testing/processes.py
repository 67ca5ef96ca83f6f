"""Processes that carry a mark in their environment: how we end what we have started, and nothing else.

Ray's processes leave the group and the session of whoever starts them, but children inherit the environment, whatever
becomes of their parents. Linux only: it looks into /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

__all__ = ["MARK", "command_of", "is_alive", "kill_marked", "marked"]

MARK = "CONCORD_NODE"
"""Name of the environment variable."""


def marked(value: str) -> list[int]:
    """Process ids of all living processes whose mark is `value`, or begins with `value/`."""
    wanted = f"{MARK}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone, or somebody else's
            variables = (folder / "environ").read_bytes().split(b"\0")
            if any(one == wanted or one.startswith(wanted + b"/") for one in variables) and is_alive(int(folder.name)):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def command_of(pid: int) -> str:
    """A process's command line, which Ray's workers use to say what they do; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent to notice does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def kill_marked(value: str, patience_seconds: float = 30.0) -> int:
    """Kill every process with this mark, and what they start meanwhile; how many there were.

    Raises:
        TimeoutError: some would not go.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + patience_seconds
    while left := marked(value):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {left} are still there {patience_seconds:g} s after they were killed")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= set(left)
        time.sleep(0.05)
    return len(killed)
