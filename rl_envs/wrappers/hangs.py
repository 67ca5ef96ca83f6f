"""Hang watch for custom environments: a thread that ends this process when a call of an environment takes too long.

It reports the call and the line first. Training processes use it, because nothing else can end such a call; Ray starts
them again.
"""

import contextlib
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

TIMEOUT_VARIABLE = "CONCORD_FRAGMENT_SECONDS"
"""Environment variable with the number of seconds that a call, and a fragment of training, may take; default 540."""
_MAX_SECONDS = 1e9
"""Longest time limit, which Python's timers can hold."""
_now: tuple[str, float, int] | None = None
_watch: threading.Thread | None = None
_LIBRARY = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))


def call_started(method: str) -> None:
    """Record that an environment's method is called in this thread."""
    global _now  # one call per process: runners step their worlds one after the other
    _now = (method, time.monotonic(), threading.get_ident())


def call_ended() -> None:
    """Record that the call has returned."""
    global _now
    _now = None


def watch(report: Callable[[str], None]) -> None:
    """Watch the calls of this process from now on; `report` gets the error message before the process ends.

    Raises ValueError as `timeout_seconds` does.
    """
    global _watch
    if _watch is None:
        _watch = threading.Thread(target=_look, args=(report, timeout_seconds()), daemon=True, name="hang watch")
        _watch.start()


def timeout_seconds() -> float:
    """The time limit from the environment variable; ValueError where that is no number of seconds in its range."""
    given = os.environ.get(TIMEOUT_VARIABLE, "540")
    with contextlib.suppress(ValueError):
        if 0 < float(given) <= _MAX_SECONDS:
            return float(given)
    limit = f"above 0 and at most {_MAX_SECONDS:,.0f}"
    raise ValueError(f"{TIMEOUT_VARIABLE} is {given!r}: let it be a number of seconds {limit}, or unset it")


def hang_message(seconds: float) -> str | None:
    """Message about the present call if it has taken `seconds` or more, else None."""
    call = _now
    if call is None or time.monotonic() - call[1] < seconds:
        return None
    frame = sys._current_frames().get(call[2])
    place = "" if frame is None else f" ({_where(frame)})"
    return f"the environment did not return from {call[0]} for {seconds:g} s{place}"


def _where(frame: FrameType) -> str:
    """`file.py, line 3`: the innermost line of a stack that is not of Python's own library."""
    found: FrameType | None = frame
    while found is not None and _is_of_library(found.f_code.co_filename):
        found = found.f_back
    found = found or frame
    return f"{Path(found.f_code.co_filename).name}, line {found.f_lineno}"


def _is_of_library(filename: str) -> bool:
    return filename.startswith("<frozen") or (filename.startswith(_LIBRARY) and "site-packages" not in filename)


def _look(report: Callable[[str], None], seconds: float) -> None:
    while True:
        time.sleep(min(1.0, seconds / 10))
        if (message := hang_message(seconds)) is not None:
            try:
                print(message, file=sys.stderr, flush=True)
                report(message)
            finally:
                os._exit(1)
