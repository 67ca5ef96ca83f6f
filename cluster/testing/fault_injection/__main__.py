"""Inject one fault after another, and report what was lost.

`make drills`, or `python -m cluster.testing.fault_injection [NAME ...] [--write FILE]`.
"""

import argparse
import sys
import time
from pathlib import Path

from cluster.testing.fault_injection import faults
from cluster.testing.fault_injection.faults import Finding, as_table
from cluster.testing.local_cluster import ROOT, LocalCluster
from cluster.testing.processes import listeners, marked


def main() -> int:
    """Inject the named faults, or all; 0 if every run finished completely."""
    parser = argparse.ArgumentParser(prog="python -m cluster.testing.fault_injection", description=__doc__)
    message = f"faults to inject, all by default; choices: {', '.join(faults.FAULTS)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=message)
    parser.add_argument("--write", type=Path, help="Markdown file to write the report to")
    words = parser.parse_args()
    unknown = [name for name in words.names if name not in faults.FAULTS]
    if unknown:
        parser.error(f"no fault is called {unknown[0]}; choose from {', '.join(faults.FAULTS)}")
    findings: list[Finding] = []
    variables = {"CONCORD_FRAGMENT_SECONDS": str(faults.FRAGMENT_SECONDS), "PYTHONPATH": str(ROOT)}
    with LocalCluster(workers=2, cpus_per_worker=3, environment=variables) as cluster:
        addresses = sorted({address for address, _ in listeners(marked(cluster.name))})
        print(f"a head and {cluster.workers} worker nodes are up, and listen on {', '.join(addresses)}", flush=True)
        for name in words.names or faults.FAULTS:
            begun = time.monotonic()
            findings.append(_run(name, cluster))
            print(f"[{time.monotonic() - begun:4.0f} s] {findings[-1]}", flush=True)
    table = as_table(findings, faults.INTERVAL)
    print(f"\n{table}\n{len(marked(cluster.name))} processes left", flush=True)
    if words.write is not None:
        about = "One run of `make drills`: a head and two worker nodes on one machine."
        words.write.write_text(f"# Fault injection\n\n{about}\n\n{table}")
    return 0 if all(one.is_whole for one in findings) else 1


def _run(name: str, cluster: LocalCluster) -> Finding:
    try:
        return faults.FAULTS[name](cluster)
    except (RuntimeError, TimeoutError) as error:
        print(error, flush=True)
        faults.stop_jobs(cluster)  # a job that still runs would hold the CPUs of the next fault
        return Finding(name.replace("_", " "), None, float("nan"), str(error).splitlines()[0], False)


if __name__ == "__main__":
    sys.exit(main())
