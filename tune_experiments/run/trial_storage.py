"""A trial's folder during training: one writer, and waiting while the disk is unavailable.

After a disk error, such as a full disk, it waits for its folder and continues from its newest complete checkpoint.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rl_models.file_lock import hold_lock
from rl_models.training.checkpoint_files import CheckpointError

TIMEOUT_SECONDS = 3600.0
POLL_SECONDS = 2.0
_LOCK_FILE = ".writer.lock"


@contextmanager
def waiting_for_storage(
    folder: Path, print_fn: Callable[[str], None], timeout_seconds: float = TIMEOUT_SECONDS
) -> Iterator[None]:
    """Context that locks a trial's folder; after a disk error it waits until the disk is writable again."""
    wait_for_folder(folder, print_fn, timeout_seconds)
    with lock_folder(folder, print_fn):
        try:
            yield
        except (OSError, CheckpointError):
            wait_for_folder(folder, print_fn, timeout_seconds)
            raise


def wait_for_folder(folder: Path, print_fn: Callable[[str], None], timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Wait until the folder exists and can be written."""
    deadline, has_said = time.monotonic() + timeout_seconds, False
    while (refusal := _refusal(folder)) is not None:
        if time.monotonic() > deadline:
            raise FileNotFoundError(
                f"{folder} cannot be used on {platform.node()} ({refusal}); "
                f"all nodes must have access to --out: name a folder on shared storage"
            )
        if not has_said:
            print_fn(f"{refusal}: waiting until {folder} can be written, for {timeout_seconds / 60:.0f} minutes")
            has_said = True
        time.sleep(POLL_SECONDS)


@contextmanager
def lock_folder(folder: Path, print_fn: Callable[[str], None], timeout_seconds: float = 300.0) -> Iterator[None]:
    """Context that locks the folder: a trial that lost its cluster may still be running."""
    other = f"another process still writes to {folder}"
    wait = f"{other}: waiting until it ends, for {timeout_seconds / 60:.0f} minutes"
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(folder / _LOCK_FILE, timeout_seconds, lambda: print_fn(wait)))
        except TimeoutError:
            raise TimeoutError(f"{other}; end it, or wait until it has ended") from None
        yield


def _refusal(folder: Path) -> str | None:
    """Why the folder could not take another checkpoint; None if it can."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    try:
        checkpoints = (folder / "checkpoints").glob("checkpoint_*")
        needed = max((sum(file.stat().st_size for file in one.iterdir()) for one in checkpoints), default=0)
        free = shutil.disk_usage(folder).free
        if free < needed:
            return f"{free / 2**20:.1f} MiB are free and the next checkpoint needs {needed / 2**20:.1f}"
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
    except OSError as error:
        return error.strerror or str(error)
    return None
