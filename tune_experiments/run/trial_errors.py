"""Errors after which a trial is not restarted: wrong inputs and mistakes in code, each reported in one sentence."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

from rl_envs.core.errors import CustomEnvError
from rl_models.errors import InputError
from rl_models.training.checkpoint import CheckpointError
from tune_experiments.core.config_path import with_flags
from tune_experiments.core.errors import StoreUnavailableError, UserError, first_line, one_line

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


def find_permanent_failure(error: Exception, folder: Path) -> str | None:
    """Reason not to restart a trial, in one sentence; None if a restart may help.

    The traceback of an unforeseen error is written into the trial's folder.
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
    try:
        (folder / ERROR_FILE).write_text("".join(traceback.format_exception(error)))
    except OSError:  # a store's trial, whose folder is on another machine
        return f"{message}{where}"
    return f"{message}{where}; the traceback is in {folder / ERROR_FILE}"


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
