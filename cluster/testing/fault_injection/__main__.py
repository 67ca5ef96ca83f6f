"""Break one thing after another, and report what was lost.

`make drills`, or `python -m cluster.testing.fault_injection [NAME ...] [--write FILE]`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from cluster.testing.fault_injection import faults, inside
from cluster.testing.fault_injection.report import Finding, as_table
from cluster.testing.local_cluster import ROOT, LocalCluster
from cluster.testing.processes import marked

DRILLS = {**faults.DRILLS, **inside.DRILLS}


def main() -> int:
    """Run the drills that were named, or all; 0 if every run ended whole and lost no more than it may."""
    parser = argparse.ArgumentParser(prog="python -m cluster.testing.fault_injection", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DRILLS)}")
    parser.add_argument("--write", type=Path, help="a Markdown file for the report")
    words = parser.parse_args()
    unknown = [name for name in words.names if name not in DRILLS]
    if unknown:
        parser.error(f"no drill is called {unknown[0]}; there are {', '.join(DRILLS)}")
    findings: list[Finding] = []
    variables = {"CONCORD_FRAGMENT_SECONDS": str(inside.FRAGMENT_SECONDS), "PYTHONPATH": str(ROOT)}
    with LocalCluster(workers=2, cpus_per_worker=3, environment=variables) as cluster:
        print(f"a head and {cluster.workers} worker nodes are up", flush=True)
        for name in words.names or DRILLS:
            begun = time.monotonic()
            findings.append(_run(name, cluster))
            print(f"[{time.monotonic() - begun:4.0f} s] {findings[-1]}", flush=True)
    table = as_table(findings, faults.INTERVAL)
    print(f"\n{table}\n{len(marked(cluster.name))} processes left", flush=True)
    if words.write is not None:
        words.write.write_text(_page(table))
    return 0 if all(one.is_whole for one in findings) else 1


def _run(name: str, cluster: LocalCluster) -> Finding:
    try:
        return DRILLS[name](cluster)
    except (RuntimeError, TimeoutError) as error:
        print(error, flush=True)
        faults.end_all(cluster)  # what it was about must not be in the next one's way
        return Finding(name.replace("_", " "), 0, float("nan"), str(error).splitlines()[0], False)


def _page(table: str) -> str:
    return f"# Fault drills\n\nOne run of `make drills`: a head and two worker nodes on one machine.\n\n{table}"


if __name__ == "__main__":
    sys.exit(main())
