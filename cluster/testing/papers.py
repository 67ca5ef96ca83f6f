"""The smoke run of each paper as a job of a local cluster: `python -m cluster.testing.papers`.

Each experiment is submitted three times: without a token, with a wrong token and with the right one. The cluster must
refuse the first two in one sentence before any upload. The third must leave a table, results and TensorBoard events.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class JobReport:
    """How the job of one experiment ended.

    Attributes:
        experiment: name of the experiment.
        refusals: sentence without a token, sentence with a wrong token; empty where the cluster did not refuse.
        exit_code: exit code of the job.
        seconds: duration of the job.
        results: number of lines in results.jsonl.
        trials: number of trial folders.
        with_events: number of trial folders that hold TensorBoard events.
        has_table: whether table.md exists and holds a table.
    """

    experiment: str
    refusals: tuple[str, str]
    exit_code: int
    seconds: float
    results: int
    trials: int
    with_events: int
    has_table: bool

    @property
    def is_whole(self) -> bool:
        """Whether the wrong tokens were refused and the job left everything that it should."""
        made = self.results > 0 and self.has_table and 0 < self.trials == self.with_events
        return self.exit_code == 0 and made and all(self.refusals)


def main(arguments: Sequence[str] | None = None) -> int:
    """Submit the experiments one after another and print a table; 0 if every report is whole."""
    parser = argparse.ArgumentParser(prog="python -m cluster.testing.papers", description=__doc__)
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help=f"experiments to submit; by default {', '.join(EXPERIMENTS)}",
    )
    names = parser.parse_args(arguments).experiments or EXPERIMENTS
    reports: list[JobReport] = []
    with LocalCluster(workers=1, cpus_per_worker=2) as cluster:
        for name in names:
            reports.append(_submit(cluster, name))
            print(_row(reports[-1]), flush=True)
    print(f"\n{as_table(reports)}\n\n{len(marked(cluster.name))} processes left")
    for sentence in sorted({sentence for one in reports for sentence in one.refusals}):
        print(f"refusal of a wrong token: {sentence or '**none: the job was let in**'}")
    return 0 if all(one.is_whole for one in reports) else 1


def _submit(cluster: LocalCluster, experiment: str) -> JobReport:
    without_token, with_wrong_token = (refusal(cluster, experiment, FLAGS, token) for token in WRONG_TOKENS.values())
    begun = time.monotonic()
    job = Submission(cluster, experiment, FLAGS, cluster.home / experiment)
    code = job.wait(_LIMIT_SECONDS)
    if code:
        print(job.printed[-3000:], flush=True)
    return report_on(experiment, (without_token, with_wrong_token), code, time.monotonic() - begun, job.out)


def report_on(experiment: str, refusals: tuple[str, str], exit_code: int, seconds: float, out: Path) -> JobReport:
    """Read the run folder `out` and put its counts beside what the caller saw of the job."""
    table, results = out / TABLE_FILE, out / RESULTS_FILE
    trials = [path for path in (out / "trials").glob("*") if path.is_dir()]
    return JobReport(
        experiment,
        refusals,
        exit_code,
        seconds,
        results=len(results.read_text().splitlines()) if results.exists() else 0,
        trials=len(trials),
        with_events=sum(any(trial.glob(PATTERN)) for trial in trials),
        has_table=table.exists() and "|" in table.read_text(),
    )


def as_table(reports: Sequence[JobReport]) -> str:
    """All reports as a Markdown table."""
    head = "| experiment | no token | wrong token | exit code | seconds | table | results | trials with events |"
    return "\n".join([head, "|---|---|---|---:|---:|---|---:|---:|", *map(_row, reports)])


def _row(one: JobReport) -> str:
    refused = " | ".join("refused" if sentence else "**let in**" for sentence in one.refusals)
    made = f"{'yes' if one.has_table else '**no**'} | {one.results} | {one.with_events} of {one.trials}"
    return f"| {one.experiment} | {refused} | {one.exit_code} | {one.seconds:.0f} | {made} |"


if __name__ == "__main__":
    sys.exit(main())
