"""Each paper's smoke run as a job of a local cluster, and what strangers are told: `python -m cluster.testing.papers`.

Each experiment is submitted without a token, with a wrong one and with the right one. The first two must be refused in
one sentence before anything is uploaded; the third must leave a table, results and TensorBoard events.
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
from cluster.testing.stranger import STRANGERS, refusal
from cluster.testing.submission import Submission
from tune_experiments.run.tensorboard_events import PATTERN

EXPERIMENTS = (
    "furnmove_sync",
    "rtfm_txt2pi",
    "messenger_emma",
    "endi_messenger",
    "verco_salad",
    "sama_overcooked",
)
FLAGS = ["--preset", "smoke"]
_LIMIT_SECONDS = 1800.0


@dataclass(frozen=True)
class Outcome:
    """What became of one experiment.

    Attributes:
        experiment: which.
        refusals: what a stranger without a token, and one with a wrong token, was told; empty if he was not refused.
        exit_code, seconds: of the job.
        results: lines of results.jsonl.
        trials: folders of trials.
        with_events: of these, how many have TensorBoard events.
        has_table: whether table.md is there and not empty.
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
        """Whether all went as it should."""
        made = self.results > 0 and self.has_table and 0 < self.trials == self.with_events
        return self.exit_code == 0 and made and all(self.refusals)


def main(arguments: Sequence[str] | None = None) -> int:
    """Submit them one after another, and print a table; 0 if all went as it should."""
    parser = argparse.ArgumentParser(prog="python -m cluster.testing.papers", description=__doc__)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"by default {', '.join(EXPERIMENTS)}")
    names = parser.parse_args(arguments).experiments or EXPERIMENTS
    outcomes = []
    with LocalCluster(workers=1, cpus_per_worker=2) as cluster:
        for name in names:
            outcomes.append(_submit(cluster, name))
            print(_row(outcomes[-1]), flush=True)
    print(f"\n{as_table(outcomes)}\n\n{len(marked(cluster.name))} processes left")
    for told in sorted({told for one in outcomes for told in one.refusals}):
        print(f"a stranger was told: {told or '**nothing: he was let in**'}")
    return 0 if all(one.is_whole for one in outcomes) else 1


def _submit(cluster: LocalCluster, experiment: str) -> Outcome:
    nobody, somebody = (refusal(cluster, experiment, FLAGS, token) for token in STRANGERS.values())
    begun = time.monotonic()
    job = Submission(cluster, experiment, FLAGS, cluster.home / experiment)
    code = job.wait(_LIMIT_SECONDS)
    if code:
        print(job.printed[-3000:], flush=True)
    return outcome_of(experiment, (nobody, somebody), code, time.monotonic() - begun, job.out)


def outcome_of(experiment: str, refusals: tuple[str, str], exit_code: int, seconds: float, out: Path) -> Outcome:
    """Look into the folder of a run."""
    table, results = out / "table.md", out / "results.jsonl"
    trials = [path for path in (out / "trials").glob("*") if path.is_dir()]
    return Outcome(
        experiment,
        refusals,
        exit_code,
        seconds,
        results=len(results.read_text().splitlines()) if results.exists() else 0,
        trials=len(trials),
        with_events=sum(any(trial.glob(PATTERN)) for trial in trials),
        has_table=table.exists() and "|" in table.read_text(),
    )


def as_table(outcomes: Sequence[Outcome]) -> str:
    """All of them in Markdown."""
    head = "| experiment | no token | wrong token | exit code | seconds | table | results | trials with events |"
    return "\n".join([head, "|---|---|---|---:|---:|---|---:|---:|", *map(_row, outcomes)])


def _row(one: Outcome) -> str:
    refused = " | ".join("refused" if told else "**let in**" for told in one.refusals)
    made = f"{'yes' if one.has_table else '**no**'} | {one.results} | {one.with_events} of {one.trials}"
    return f"| {one.experiment} | {refused} | {one.exit_code} | {one.seconds:.0f} | {made} |"


if __name__ == "__main__":
    sys.exit(main())
