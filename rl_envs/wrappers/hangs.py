"""A watch for foreign environments that hang: which call this process waits for, since when, and at which line.

`watch` starts a thread that looks at the present call. If one lasts too long, it says where the environment stands and
ends this process, for nothing else can end the call. A training process does so, and is started again; a program that
steps a world for itself has no such watch.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

PATIENCE_VARIABLE = "CONCORD_FRAGMENT_SECONDS"
"""Environment variable with the number of seconds that a call, and a fragment of training, may take; default 540."""
_now: tuple[str, float, int] | None = None
_watch: threading.Thread | None = None
_LIBRARY = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))


def begins(method: str) -> None:
    """An environment's method is called in this thread."""
    global _now  # a call a process: runners step their worlds one after the other
    _now = (method, time.monotonic(), threading.get_ident())


def ends() -> None:
    """It has returned."""
    global _now
    _now = None


def patience_seconds() -> float:
    """How long a call may last."""
    return float(os.environ.get(PATIENCE_VARIABLE, "540"))


def watch(tell: Callable[[str], None]) -> None:
    """Watch the calls of this process from now on; the first watch stays.

    Args:
        tell: gets the sentence, before the process ends.
    """
    global _watch
    if _watch is None:
        _watch = threading.Thread(target=_look, args=(tell, patience_seconds()), daemon=True, name="hang watch")
        _watch.start()


def sentence(seconds: float) -> str | None:
    """Sentence about the present call, if it has lasted so long; None if not."""
    call = _now
    if call is None or time.monotonic() - call[1] < seconds:
        return None
    frame = sys._current_frames().get(call[2])
    place = "" if frame is None else f" ({where(frame)})"
    return f"the environment did not return from {call[0]} for {seconds:g} s{place}"


def where(frame: FrameType) -> str:
    """`file.py, line 3`: the innermost line of a stack that is not of Python's own library."""
    found: FrameType | None = frame
    while found is not None and _is_of_library(found.f_code.co_filename):
        found = found.f_back
    found = found or frame
    return f"{Path(found.f_code.co_filename).name}, line {found.f_lineno}"


def _is_of_library(filename: str) -> bool:
    return filename.startswith("<frozen") or (filename.startswith(_LIBRARY) and "site-packages" not in filename)


def _look(tell: Callable[[str], None], seconds: float) -> None:
    while True:
        time.sleep(min(1.0, seconds / 10))
        if (said := sentence(seconds)) is not None:
            try:
                print(said, file=sys.stderr, flush=True)
                tell(said)
            finally:
                os._exit(1)
