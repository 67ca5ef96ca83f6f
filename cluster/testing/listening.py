"""Which addresses processes listen on, read from /proc as `ss -ltnp` does: the proof that nothing faces the network."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["listeners"]

_LISTEN = "0A"


def listeners(pids: Iterable[int]) -> list[tuple[str, int]]:
    """(address, port) of every TCP socket on which one of these processes listens."""
    sockets = {inode for pid in pids for inode in _sockets_of(pid)}
    return sorted(place for inode, place in _listening().items() if inode in sockets)


def _sockets_of(pid: int) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                link = os.readlink(entry.path)
                if link.startswith("socket:["):
                    found.append(link.removeprefix("socket:[").removesuffix("]"))
    return found


def _listening() -> dict[str, tuple[str, int]]:
    """Inode -> (address, port), of all listening sockets of the machine."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTEN:
                address, port = words[1].split(":")
                found[words[9]] = (_readable(address), int(port, 16))
    return found


def _readable(digits: str) -> str:
    """The kernel prints words of 32 bits in the machine's own order."""
    raw = bytes.fromhex(digits)
    if sys.byteorder == "little":
        raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    return str(getattr(address, "ipv4_mapped", None) or address)
