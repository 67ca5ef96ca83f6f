"""`python -m benchmarks [--only PART ...] [--out FILE]`: measure, print, and write `bench.jsonl`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import benchmarks
from benchmarks.harness.measurements import load_parts, part_names, ratios_first, table, write_lines
from rl_models.runtime.host_memory import keep_freed_memory


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    add = parser.add_argument
    message = "parts to measure; by default all but those that take hours or want a GPU (gpu, time_to_result)"
    add("--only", nargs="+", metavar="PART", help=message)
    message = "folder in which time_to_result continues; default bench_runs"
    add("--runs", type=Path, default=Path("bench_runs"), help=message)
    message = "seeds that time_to_result trains now; by default its own"
    add("--seeds", nargs="+", type=int, metavar="SEED", help=message)
    message = "tasks that time_to_result trains now; by default all of them"
    add("--tasks", nargs="+", metavar="TASK", help=message)
    message = "file for the measurements; default bench.jsonl"
    add("--out", type=Path, default=Path("bench.jsonl"), help=message)
    options = parser.parse_args(arguments)
    try:
        parts = load_parts(benchmarks, options.only or part_names(benchmarks))
        for part in parts:
            if hasattr(part, "choose"):
                part.choose(runs=options.runs, seeds=options.seeds, tasks=options.tasks)
    except ValueError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    if not options.only:
        parts = [part for part in parts if not getattr(part, "ONLY_IF_NAMED", False)]
    if (options.tasks or options.seeds) and not any(hasattr(part, "choose") for part in parts):
        print("benchmarks: --tasks and --seeds are for time_to_result: add --only time_to_result", file=sys.stderr)
        return 2
    keep_freed_memory()  # as a trial does
    names = [part.__name__.rpartition(".")[2] for part in parts]
    print(f"measuring {', '.join(names)}: one thread, medians, {' and '.join(_clocks(parts))}", flush=True)
    measurements = ratios_first(measurement for part in parts for measurement in part.measure())
    print(table(measurements))
    write_lines(measurements, options.out)
    print(f"written to {options.out}")
    return 0


def _clocks(parts: Sequence[Any]) -> list[str]:
    """Clocks of the parts: CPU time, or the `CLOCK` that a part of several processes declares."""
    named = [(getattr(part, "CLOCK", None), part.__name__.rpartition(".")[2]) for part in parts]
    common = ["CPU time"] if any(clock is None for clock, _ in named) else []
    return common + [f"{clock} in {name}" for clock, name in named if clock]


if __name__ == "__main__":
    sys.exit(main())
