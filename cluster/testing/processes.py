"""Processes of a local cluster: find them by a variable in their environment, kill them, list their sockets.

Ray's processes leave the process group and session of their parent, but every child inherits the environment. Linux
only, because it reads /proc.
"""

import contextlib
import os
import time
from collections.abc import Iterable

import psutil

MARK = "CONCORD_NODE"
"""Name of the environment variable."""
_KILL_SECONDS = 30.0


def marked(value: str) -> list[int]:
    """Process ids of all living processes whose mark is `value` or begins with `value/`."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or belongs to another user
            if f"{process.environ().get(MARK, '')}/".startswith(f"{value}/") and is_alive(process.pid):
                found.append(process.pid)
    return [pid for pid in found if pid != os.getpid()]


def command_line(pid: int) -> str:
    """Command line of a process, which Ray's workers set to their task; empty after the process ended."""
    try:
        return " ".join(psutil.Process(pid).cmdline()).strip()
    except psutil.Error:
        return ""


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie (ended, not yet waited for) does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def kill_marked(value: str) -> int:
    """Kill every process with this mark and the children that they start; returns their number.

    Raises TimeoutError where some processes are still alive after 30 seconds.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _KILL_SECONDS
    while left := marked(value):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {left} are still there {_KILL_SECONDS:g} s after they were killed")
        for pid in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()
        killed |= set(left)
        time.sleep(0.05)
    return len(killed)


def listeners(pids: Iterable[int]) -> list[tuple[str, int]]:
    """(address, port) of every TCP socket on which one of these processes listens, as `ss -ltnp` shows them."""
    found: set[tuple[str, int]] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # it has ended
            sockets = psutil.Process(pid).net_connections("tcp")
            found |= {tuple(one.laddr) for one in sockets if one.status == psutil.CONN_LISTEN}
    return sorted((address.removeprefix("::ffff:"), port) for address, port in found)
