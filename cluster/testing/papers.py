"""The smoke run of each paper as a job of a local cluster: `python -m cluster.testing.papers`.

Each experiment is submitted three times: without a token, with a wrong token and with the right one. The cluster must
refuse the first two in one sentence before any upload. The third must write a table, results and TensorBoard events.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cluster.testing.local_cluster import LocalCluster
from cluster.testing.processes import marked
from cluster.testing.submission import WRONG_TOKENS, Submission, refusal
from tune_experiments.results.rows import RESULTS_FILE
from tune_experiments.results.tables import TABLE_FILE
from tune_experiments.results.tensorboard_events import PATTERN

EXPERIMENTS = ("furnmove_sync", "rtfm_txt2pi", "messenger_emma", "endi_messenger", "verco_salad", "sama_overcooked")
FLAGS = ["--preset", "smoke"]
_LIMIT_SECONDS = 1800.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Submit the experiments one after another and print a line for each; 0 if nothing is missing."""
    parser = argparse.ArgumentParser(prog="python -m cluster.testing.papers", description=__doc__)
    message = f"experiments to submit; by default {', '.join(EXPERIMENTS)}"
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=message)
    names, has_failed = parser.parse_args(arguments).experiments or EXPERIMENTS, False
    with LocalCluster(workers=1, cpus_per_worker=2) as cluster:
        for name in names:
            begun = time.monotonic()
            faults = _submit(cluster, name)
            has_failed |= bool(faults)
            print(f"{name}: {'; '.join(faults) or 'complete'} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"{len(marked(cluster.name))} processes left")
    return int(has_failed)


def _submit(cluster: LocalCluster, experiment: str) -> list[str]:
    refusals = {description: refusal(cluster, experiment, FLAGS, token) for description, token in WRONG_TOKENS.items()}
    faults = [f"accepted with {description}" for description, sentence in refusals.items() if not sentence]
    job = Submission(cluster, experiment, FLAGS, cluster.home / experiment)
    if code := job.wait(_LIMIT_SECONDS):
        print(job.printed[-3000:], flush=True)
        faults.append(f"exit code {code}")
    return faults + missing_in(job.out)


def missing_in(out: Path) -> list[str]:
    """Names of what a finished run folder lacks: the table, results, trials, or TensorBoard events of a trial."""
    table, results = out / TABLE_FILE, out / RESULTS_FILE
    trials = [path for path in (out / "trials").glob("*") if path.is_dir()]
    lacks = {
        TABLE_FILE: not table.exists() or "|" not in table.read_text(),
        RESULTS_FILE: not results.exists() or not results.read_text().strip(),
        "trials": not trials,
        "TensorBoard events": not all(any(trial.glob(PATTERN)) for trial in trials),
    }
    return [f"no {name}" for name, is_missing in lacks.items() if is_missing]


if __name__ == "__main__":
    sys.exit(main())
