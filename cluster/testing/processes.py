"""Processes of a local cluster: find them by a variable in their environment, kill them, list their sockets.

Ray's processes leave the process group and session of their parent, but every child inherits the environment. Linux
only, because it reads /proc.
"""

import contextlib
import ipaddress
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["MARK", "command_line", "is_alive", "kill_marked", "listeners", "marked"]

MARK = "CONCORD_NODE"
"""Name of the environment variable."""
_LISTEN = "0A"
"""The kernel's code for a listening socket."""
_KILL_SECONDS = 30.0


def marked(value: str) -> list[int]:
    """Process ids of all living processes whose mark is `value` or begins with `value/`."""
    wanted = f"{MARK}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            variables = (folder / "environ").read_bytes().split(b"\0")
            if any(one == wanted or one.startswith(wanted + b"/") for one in variables) and is_alive(int(folder.name)):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def command_line(pid: int) -> str:
    """Command line of a process, which Ray's workers set to their task; empty after the process ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie (ended, not yet waited for) does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def kill_marked(value: str) -> int:
    """Kill every process with this mark and the children that they start; returns their number.

    Raises:
        TimeoutError: some processes are still alive after 30 seconds.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _KILL_SECONDS
    while left := marked(value):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {left} are still there {_KILL_SECONDS:g} s after they were killed")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= set(left)
        time.sleep(0.05)
    return len(killed)


def listeners(pids: Iterable[int]) -> list[tuple[str, int]]:
    """(address, port) of every TCP socket on which one of these processes listens, as `ss -ltnp` shows them."""
    sockets = {inode for pid in pids for inode in _list_sockets(pid)}
    return sorted(address for inode, address in _listening().items() if inode in sockets)


def _list_sockets(pid: int) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                link = os.readlink(entry.path)
                if link.startswith("socket:["):
                    found.append(link.removeprefix("socket:[").removesuffix("]"))
    return found


def _listening() -> dict[str, tuple[str, int]]:
    """Inode -> (address, port) of every listening socket of this machine."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTEN:
                address, port = words[1].split(":")
                found[words[9]] = (_parse_address(address), int(port, 16))
    return found


def _parse_address(digits: str) -> str:
    """An IP address from the kernel's hexadecimal digits, 32-bit words in the byte order of this machine."""
    raw = bytes.fromhex(digits)
    if sys.byteorder == "little":
        raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    return str(getattr(address, "ipv4_mapped", None) or address)
