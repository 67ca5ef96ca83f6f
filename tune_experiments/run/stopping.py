"""Graceful stop of a run by Control-C, by SIGTERM (sent by Slurm and containers) or by a closed terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tune_experiments.core.errors import close_broken_pipes

STOPPED = "stopped; the same command continues from the newest checkpoints"
_STOP_SECONDS = 20.0
"""Less than the 30 s after which Slurm kills the job."""


@contextlib.contextmanager
def graceful_stop(print_fn: Callable[[str], None]) -> Iterator[None]:
    """Context in which the first Control-C lets Tune end its trials, which takes seconds, and the second one exits.

    SIGTERM, which Slurm and containers send, does the same (Ray would abort on it, and sets its own handler when it
    connects), and so does SIGHUP, unless it is ignored, as by `nohup`. If either has also ended Ray's processes, Tune
    would wait forever, so after 20 s the process exits with status 130.
    """
    asked: list[int] = []
    watchdog = threading.Timer(_STOP_SECONDS, _exit_now, (print_fn,))
    watchdog.daemon = True

    def stop(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if number == signal.SIGHUP:
            close_broken_pipes()
        print_fn("stopping; the newest checkpoints are kept")
        if number in (signal.SIGTERM, signal.SIGHUP):
            watchdog.start()
        signal.raise_signal(signal.SIGUSR1)  # the signal on which Tune ends its trials

    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    handlers = {signal.SIGUSR1: signal.default_int_handler, signal.SIGTERM: stop}
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for background jobs of a shell
            handlers[number] = stop
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        watchdog.cancel()
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _exit_now(print_fn: Callable[[str], None]) -> None:
    print_fn(STOPPED)
    sys.stdout.flush()
    os._exit(130)
