"""A lock on a file, for one process at a time; the operating system releases it when its owner dies.

The file and its content stay. On a file system without locks nothing is locked.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout, lock_descriptor, unlock_descriptor

_POLL_SECONDS = 0.2
_WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def hold_lock(path: Path, timeout_seconds: float = 0.0, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a file, which is made where there is none.

    `on_wait` is called once before waiting. Raises TimeoutError where another process still holds it after
    `timeout_seconds` (`math.inf` for no limit), and OSError where the file cannot be opened.
    """
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    with _where_there_are_locks():
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if timeout_seconds <= 0:
                raise
            on_wait()
            lock.acquire(timeout=timeout_seconds, poll_interval=_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_open_file(file: IO[bytes]) -> Iterator[None]:
    """Hold the lock of an open file, after waiting for other processes that write a line."""
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
