"""`python -m benchmarks.gpu_queue --queue FILE --out DIR [--minutes M]`: work on a queue for some minutes, and pack it.

Each call goes on with what the one before has packed into DIR, here or on another machine, and ends with a line an
item: `NAME env_steps/budget`. The run folders lie in DIR.work/items/NAME/run; `--minutes 0` only unpacks them.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
import typing
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.gpu_queue.items import Item, check_item, read_queue
from benchmarks.gpu_queue.running import checkpoints_of, line_of, run_slice, update_record
from benchmarks.gpu_queue.store import Record, Store, open_store
from rl_models.runtime.device import DeviceChoice
from tune_experiments.core.errors import EXIT_CODE, UserError, exits_with_one_sentence

MIN_SECONDS = 10.0
"""Time below which no further item is begun."""


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, 2 where an item has failed in this call."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_queue", description=__doc__)
    parser.add_argument("--queue", type=Path, required=True, metavar="FILE", help="TOML file with the items")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of the at most 8 files that travel"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=8.0,
        metavar="M",
        help="time after which items stop, at a checkpoint; default 8",
    )
    parser.add_argument(
        "--device", choices=typing.get_args(DeviceChoice), default="auto", help="where networks run; default auto"
    )
    parser.add_argument("--retry", action="store_true", help="try items again that have failed")
    options = parser.parse_args(arguments)
    if not 0 <= options.minutes < math.inf:
        raise UserError(f"--minutes must be a number of minutes, 0 or larger, not {options.minutes}")
    queue = read_queue(options.queue)
    with open_store(options.out.resolve()) as store:
        for item in queue:
            _take_up(item, store, options.retry)
        before = {name: record.failure for name, record in store.records.items()}
        try:
            _work(queue, store, 60 * options.minutes, options.device)
        finally:
            store.save_records()
            store.pack()
            print(store.said)
            for item in queue:
                print(line_of(item, store), flush=True)
        failed = [item.name for item in queue if store.records[item.name].failure != before[item.name]]
        for name in failed:
            print(f"error: item {name} failed: {store.records[name].failure}", file=sys.stderr)
    return EXIT_CODE if failed else 0


def _take_up(item: Item, store: Store, retries: bool) -> None:
    """Find or make the record of an item, and check an item that is to run.

    Raises:
        UserError: its script refuses it, or it is done and has changed since.
    """
    definition = asdict(item)
    record = store.records.setdefault(item.name, Record(definition))
    has_changed = record.definition != definition
    if has_changed and record.status == "done":
        raise UserError(f"item {item.name} has changed in the queue and is done: give it another name")
    if has_changed or (retries and record.status == "failed"):
        store.records[item.name] = record = Record(definition, env_steps=record.env_steps)
    if record.status == "waiting":
        check_item(item)
        update_record(item, store.folder(item.name), record)  # a kill may have come before that
        _keep(item, store)


def _work(queue: Sequence[Item], store: Store, seconds: float, device: DeviceChoice) -> None:
    """Run the first unfinished item, then the next, until time is up."""
    ends_at, left = time.monotonic() + seconds, seconds
    for item in queue:
        while store.records[item.name].status == "waiting" and left > 0:
            print(f"{item.name}: a slice of {left:.0f} seconds", flush=True)
            try:
                run_slice(item, store, left, seconds, device)
            finally:
                _keep(item, store)
                store.save_records()
            left = ends_at - time.monotonic()
            if left < MIN_SECONDS:
                return
            store.pack()


def _keep(item: Item, store: Store) -> None:
    """Make the pieces that travel."""
    is_done = store.records[item.name].status == "done"
    store.keep(item.name, checkpoints_of(item, store.folder(item.name), is_done))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it packs first
    sys.exit(main())
