"""`python -m benchmarks [--only PART ...] [--out FILE]`: measure, print, and write `bench.jsonl`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import benchmarks
from benchmarks.harness.figures import load_parts, part_names, ratios_first, table, write_lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("--only", nargs="+", metavar="PART", default=part_names(benchmarks), help="these parts alone")
    parser.add_argument("--out", type=Path, default=Path("bench.jsonl"), help="file to write (bench.jsonl)")
    options = parser.parse_args(arguments)
    try:
        parts = load_parts(benchmarks, options.only)
    except ValueError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    print(f"measuring {', '.join(options.only)}: one thread, medians, {' and '.join(_clocks(parts))}", flush=True)
    figures = ratios_first(figure for part in parts for figure in part.measure())
    print(table(figures))
    write_lines(figures, options.out)
    print(f"written to {options.out}")
    return 0


def _clocks(parts: Sequence[Any]) -> list[str]:
    """What is counted; a part whose processes work side by side says so with a `CLOCK` of its own."""
    named = [(getattr(part, "CLOCK", None), part.__name__.rpartition(".")[2]) for part in parts]
    common = ["CPU time"] if any(clock is None for clock, _ in named) else []
    return common + [f"{clock} in {name}" for clock, name in named if clock]


if __name__ == "__main__":
    sys.exit(main())
