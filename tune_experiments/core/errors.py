"""The exception for errors that the user can correct: printed as one sentence, without a traceback."""

import contextlib
import functools
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TextIO

from rl_envs.core.errors import CustomEnvError
from rl_models.errors import InputError

EXIT_CODE = 2
P = ParamSpec("P")


class UserError(Exception):
    """A user's error: one sentence that says what is wrong, where, and how to fix it."""


class StoreUnavailableError(UserError):
    """A store is temporarily unavailable; the trial is restarted."""


def one_line(text: object) -> str:
    """Text of an error, or any other text, in one line."""
    return " ".join(str(text).split())


def exits_with_one_sentence(main: Callable[P, int | None]) -> Callable[P, int]:
    """Wrap a script's `main`: a `UserError` becomes `error: <sentence>` on stderr and exit code 2.

    Control-C becomes exit code 130, and a broken pipe (`| head`) 141, as shells expect, without a traceback.
    """

    @functools.wraps(main)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return main(*args, **kwargs) or 0
        except (UserError, InputError, CustomEnvError) as error:
            print(f"error: {one_line(error)}", file=sys.stderr)
            return EXIT_CODE
        except SystemExit as refusal:  # by tyro, after its message or the help
            if refusal.code != EXIT_CODE:
                raise
            return EXIT_CODE
        except KeyboardInterrupt as stop:
            if not stop.args:  # otherwise its message was already printed
                print("interrupted", file=sys.stderr)
            # Under `python -m`, CPython ends by SIGINT if the last `exec` of a string was interrupted, as in an import.
            exec("")
            return 130
        except BrokenPipeError:
            if sys.stdout not in close_broken_pipes():
                raise
            return 141
        except OSError as error:
            if error.filename is None:
                raise
            advice = "check that it is there, that you may read and write it, and that its disk has room"
            print(f"error: {error.filename} cannot be used ({error.strerror}): {advice}", file=sys.stderr)
            return EXIT_CODE

    return wrapped


def ending_threads(code: int, seconds: float = 10.0) -> int:
    """Return the exit code of this process, which then waits at most so long for threads, as of an environment."""

    def end() -> None:
        threading.main_thread().join()  # until its work is done
        deadline = time.monotonic() + seconds
        threads = [one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        names = [thread.name for thread in threads if thread.is_alive()]
        if names:
            which = f"{names[0]} and {len(names) - 1} more" if names[1:] else names[0]
            advice = "let an environment end its threads in close, or start them as daemons"
            print(f"note: ends without threads that are still running ({which}): {advice}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    threading.Thread(target=end, daemon=True).start()
    return code


def close_broken_pipes() -> list[TextIO]:
    """Close stdout and stderr if their reader has gone, and discard further output; the closed streams."""
    gone = []
    for stream in (sys.stdout, sys.stderr):
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError, TypeError):  # not a file, as in a notebook
            poll.register(stream, 0)  # errors and hang-ups are always reported
            if poll.poll(0):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                gone.append(stream)
    return gone
