"""`python -m benchmarks [--only PART ...] [--out FILE]`: measure, print, and write `bench.jsonl`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import benchmarks
from benchmarks.common.figures import load_parts, part_names, ratios_first, table, write_lines


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
    print(f"measuring {', '.join(options.only)}: CPU time, one thread, medians", flush=True)
    figures = ratios_first(figure for part in parts for figure in part.measure())
    print(table(figures))
    write_lines(figures, options.out)
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
