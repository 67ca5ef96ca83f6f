"""A lock on a file: one process has it at a time, and the system takes it back when its owner dies, however it dies.

The file stays where it is, with what it holds. A file system without locks has none to give: there all processes go on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout, lock_descriptor, unlock_descriptor

__all__ = ["hold_lock", "hold_open_file"]

_LOOKS_AFTER_SECONDS = 0.2
_WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def hold_lock(path: Path, patience_seconds: float = 0.0, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a file, which is made where there is none.

    Args:
        path: path of the lock file.
        patience_seconds: longest wait while another process holds it; `math.inf` waits for ever.
        on_wait: is called once before waiting begins.

    Raises:
        TimeoutError: another process still holds it.
        OSError: the file cannot be opened.
    """
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    with _where_there_are_locks():
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if patience_seconds <= 0:
                raise
            on_wait()
            lock.acquire(timeout=patience_seconds, poll_interval=_LOOKS_AFTER_SECONDS)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_open_file(file: IO[bytes]) -> Iterator[None]:
    """Hold the lock of a file that is open, after waiting for other processes that write a line of it."""
    with _where_there_are_locks():
        lock_descriptor(file.fileno(), poll_interval=0.01)
    try:
        yield
    finally:
        with _where_there_are_locks():
            unlock_descriptor(file.fileno())


@contextmanager
def _where_there_are_locks() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
