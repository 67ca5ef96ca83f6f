"""The process in which a reward function runs. Started as a script by `process.py`; imports the standard library alone.

First it gives up its rights for good: it can open no file or socket, grow no file and fork no process, and the kernel
limits its memory. Started by root, it also changes root into its empty folder and becomes a user without rights,
because root could raise the limits again. Then it reads one JSON object a line and answers each with one: first the
source, then lists of state pairs. A call that uses too much CPU time is ended by a signal that kills this process, so
the limit does not depend on the load of the machine. The sum of all calls has no limit.
"""

import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable

MAX_RANGE = 1_000
NOBODY = 65_534
"""The user without rights."""


class WrongAnswerError(Exception):
    """The function broke a rule; the message contains no text of the function."""


def drop_root() -> None:
    """Change root to the working folder and switch to user `nobody`; without permission, change nothing."""
    with contextlib.suppress(OSError):
        os.chroot(".")
    with contextlib.suppress(OSError):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def limit_resources(memory_bytes: int) -> None:
    """Lower every limit for good: soft and hard."""
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        # Open files stay open; 0 also forbids to reuse the descriptor of a closed one.
        resource.RLIMIT_NOFILE: 0,
    }
    for which, limit in limits.items():
        resource.setrlimit(which, (limit, limit))


def short_range(*bounds: int) -> range:
    """`range` with a bound on its length."""
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise ValueError
    return numbers


BUILTINS = {
    **{function.__name__: function for function in (len, any, all, sum, min, max, abs, sorted, set, int, isinstance)},
    **{kind.__name__: kind for kind in (str, bool, list, dict)},
    "range": short_range,
}


def load(source: str) -> Callable[..., object]:
    """Define the function that the source holds and nothing else."""
    names: dict[str, object] = {"__builtins__": BUILTINS}
    exec(compile(source, "<reward>", "exec"), names)
    reward = names["reward"]
    assert callable(reward)
    return reward


def evaluate(reward: Callable[..., object], pair: list, checks_arguments: bool) -> int:
    """The reward of one pair of states; raises WrongAnswerError, and whatever the function raises."""
    before = json.dumps(pair) if checks_arguments else ""
    value = reward(*pair)
    if not isinstance(value, int) or value not in (0, 1):
        raise WrongAnswerError("it returned something other than 0 and 1")
    if checks_arguments and json.dumps(pair) != before:
        raise WrongAnswerError("it changes the states")
    return int(value)


def answer(reward: Callable[..., object], order: dict) -> dict:
    """Rewards of all pairs of one line, or the reason of a failure."""
    signal.setitimer(signal.ITIMER_PROF, order["cpu_seconds"])
    try:
        values = [evaluate(reward, pair, order["checks_arguments"]) for pair in order["pairs"]]
    except WrongAnswerError as wrong:
        return {"error": str(wrong)}
    except BaseException as error:
        return {"error": f"it raised {type(error).__name__}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"values": values}


def main() -> None:
    """Answer requests until the pipe is closed."""
    setup = json.loads(sys.stdin.readline())
    if os.getuid() == 0:
        drop_root()
    limit_resources(setup["memory_bytes"])
    reward = load(setup["source"])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(reward, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
