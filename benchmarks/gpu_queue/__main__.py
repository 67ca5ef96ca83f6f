"""`python -m benchmarks.gpu_queue --queue FILE --out DIR [--minutes M]`: work on a queue for M minutes, then pack it.

Each call continues from the files in DIR, here or on another machine, and ends with a line per item: `NAME
env_steps/budget`. The run folders are DIR.work/items/NAME/run; `--minutes 0` only unpacks them.
"""

import argparse
import contextlib
import math
import signal
import sys
import time
import typing
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu_queue.items import read_queue
from benchmarks.gpu_queue.running import Task, resume_task, run_slice
from benchmarks.gpu_queue.store import Store, open_store
from rl_models.runtime.device import DeviceChoice
from rl_models.training.checkpoint import CheckpointError
from tune_experiments.core.errors import EXIT_CODE, UserError, exits_with_one_sentence
from tune_experiments.run.ray_cluster import checked_device

MIN_SECONDS = 10.0
"""No further item starts with less time left."""


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, 2 if an item failed in this call or could not be packed."""
    options = _read(arguments)
    queue, has_gpu = read_queue(options.queue), checked_device(options.device).type == "cuda"
    with open_store(options.out.resolve()) as store:
        tasks = [resume_task(item, store.folder(item.name), options.retry) for item in queue]
        waiting = [task for task in tasks if task.status == "waiting"]
        if not has_gpu and (left := [task.item.name for task in waiting if task.item.needs_gpu]):
            print(f"left for a call with a GPU: {', '.join(left)}")
            waiting = [task for task in waiting if not task.item.needs_gpu]
        failed = False
        try:
            _work(waiting, store, 60 * options.minutes, options.device)
        finally:
            try:
                print(store.pack())
            except CheckpointError as error:
                failed = True
                print(f"error: {error}", file=sys.stderr)
            finally:
                for task in tasks:
                    print(task.line, flush=True)
    for task in waiting:
        if task.failure:
            failed = True
            print(f"error: item {task.item.name} failed: {task.failure}", file=sys.stderr)
    return EXIT_CODE if failed else 0


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_queue", description=__doc__)
    add = parser.add_argument
    add("--queue", type=Path, required=True, metavar="FILE", help="TOML file with the items")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the archive, at most 8 files")
    add("--minutes", type=float, default=8.0, metavar="M", help="minutes after which items stop, at a checkpoint")
    add("--device", choices=typing.get_args(DeviceChoice), default="auto", help="device of the networks")
    add("--retry", action="store_true", help="run failed items again")
    options = parser.parse_args(arguments)
    if not 0 <= options.minutes < math.inf:
        raise UserError(f"--minutes must be a number of minutes, 0 or larger, not {options.minutes}")
    return options


def _work(waiting: Sequence[Task], store: Store, seconds: float, device: DeviceChoice) -> None:
    """Run the waiting items in order until the time is up."""
    ends_at, left = time.monotonic() + seconds, seconds
    for task in waiting:
        while task.status == "waiting" and left > 0:
            print(f"{task.item.name}: a slice of {left:.0f} seconds", flush=True)
            run_slice(task, store, left, seconds, device)
            left = ends_at - time.monotonic()
            if left < MIN_SECONDS:
                return
            with contextlib.suppress(CheckpointError):  # of an item; the last archive of the call tells it
                store.pack()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it packs first
    sys.exit(main())
