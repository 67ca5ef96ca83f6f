"""Errors of a trial: wrong inputs and mistakes in code, after which it is not restarted, and those of its disk."""

import platform
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rl_envs.core.errors import CustomEnvError
from rl_models.errors import InputError, first_line
from rl_models.file_lock import hold_lock
from rl_models.training.checkpoint import CheckpointError
from tune_experiments.core.config_path import with_flags
from tune_experiments.core.errors import StoreUnavailableError, UserError, one_line
from tune_experiments.core.storage_uri import join_path
from tune_experiments.run.remote_sync import RemoteSync

ERROR_FILE = "error.txt"
"""File in a trial's folder with the traceback of an unexpected error."""
_USER_ERRORS = (UserError, CustomEnvError, InputError)
_CODE_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NameError,
    ImportError,
    ArithmeticError,
    AssertionError,
    NotImplementedError,
    RecursionError,
)
_TRANSIENT_ERRORS = (StoreUnavailableError, CheckpointError)


class PermanentFailure(str):
    """Cause of a failure that a restart would repeat."""


def find_permanent_failure(error: Exception, folder: Path, uri: str | None = None) -> str | None:
    """Reason not to restart a trial, in one sentence, or None.

    An unforeseen traceback goes into the trial's folder, or to its `uri` in a store, where the folder is temporary.
    """
    chain = list(_chain(error))
    if any(isinstance(one, _TRANSIENT_ERRORS) for one in chain):
        return None
    known = next((one for one in chain if isinstance(one, _USER_ERRORS)), None)
    if known is not None:
        return one_line(getattr(known, "cause", None) or known)
    if not isinstance(error, _CODE_ERRORS):
        return None
    cause = getattr(error, "cause", None) or error
    message = f"{type(cause).__name__}: {first_line(cause)}"
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    text = "".join(traceback.format_exception(error)).encode()
    try:
        if uri is None:
            (folder / ERROR_FILE).write_bytes(text)
        else:
            RemoteSync(folder, uri).write(ERROR_FILE, text)
    except (OSError, UserError):
        return f"{message}{where}"
    return f"{message}{where}; the traceback is in {join_path(uri or str(folder), ERROR_FILE)}"


def with_advice(reason: str, config: object) -> str:
    """Cause of a failure with the flags of the configuration, and how to continue."""
    advice = "fix it; " if isinstance(reason, PermanentFailure) else ""
    return f"{with_flags(reason, config)}; {advice}the same command continues the trial"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it was raised from; Ray keeps an error of another process as `cause`."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left += [getattr(one, "cause", None), one.__cause__, one.__context__]


# ---- a trial's folder: one writer, and after a disk error a wait until the disk is available -------------------------

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
