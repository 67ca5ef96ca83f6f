"""Soak test: the memory growth of every process in an hour of training.

    python -m cluster.testing.soak                             # an hour of FurnMove on a local cluster of two nodes
    python -m cluster.testing.soak --minutes 600 --experiment rtfm_txt2pi --preset smoke --workers.runners 1
    python -m cluster.testing.soak --read runs/soak.csv        # the table of a soak that has ended or is still running

Every 30 seconds the command samples each process of the cluster and the process that follows the job. The samples go to
a CSV file. The table at the end gives each process's memory growth after the warm-up, with a 99 % confidence interval.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cluster.testing.local_cluster import LocalCluster
from cluster.testing.memory import Sample, Trend, process_name, read_samples, sample, trends, write_samples
from cluster.testing.processes import command_line, marked
from cluster.testing.submission import Submission, TrialFolder
from tune_experiments.core.errors import exits_with_one_sentence

FLAGS = ["--preset", "smoke", "--methods", "sync_13_cordial", "--budget-env-steps", "1000000000"]
FLAGS += ["--workers.runners", "1", "--workers.learners", "1", "--workers.worlds-per-runner", "16"]
FLAGS += ["--checkpoint-every-env-steps", "3200", "--validate-every-env-steps", "32000"]
FLAGS += ["--train-rooms", "train"]
"""Every kind of process, many checkpoints and validations, and an unlimited budget. Few rooms, because an env
runner caches every room that it has seen, which looks like a leak in the first hour."""


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Train and sample, then print the table; 1 if the job ended too early."""
    words, flags = _parser().parse_known_args(sys.argv[1:] if arguments is None else arguments)
    if words.read:
        print(report(read_samples(words.read), words.warm_up))
        return 0
    words.write.unlink(missing_ok=True)
    with LocalCluster(workers=1, cpus_per_worker=4) as cluster:
        job = Submission(cluster, words.experiment, flags or FLAGS, cluster.home / "results")
        _sample_until_end(cluster, job, words)
        trials = [TrialFolder(path) for path in sorted((job.out / "trials").glob("*"))]
        has_ended = job.process.poll() is not None
        if has_ended:
            print(f"the job ended before its time:\n{job.printed[-3000:]}")
        for trial in trials:
            print(f"{trial.path.name}: {trial.env_steps():,} env steps in {len(trial.rows()):,} rows of its log")
        job.process.kill()
    print(report(read_samples(words.write), words.warm_up))
    return int(has_ended)


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    program = "python -m cluster.testing.soak"
    parser = argparse.ArgumentParser(program, description=__doc__, formatter_class=shape, allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=60.0, help="duration of the soak in minutes")
    message = "minutes at the start that are left out of the slopes"
    parser.add_argument("--warm-up", type=float, default=15.0, metavar="MINUTES", help=message)
    parser.add_argument("--every-seconds", type=float, default=30.0, help="seconds between two samples")
    message = "name of the experiment; any other flag is passed to it"
    parser.add_argument("--experiment", default="furnmove_sync", help=message)
    parser.add_argument("--write", type=Path, default=Path("runs/soak.csv"), help="CSV file to write the samples to")
    parser.add_argument("--read", type=Path, help="print the table of this CSV file and train nothing")
    return parser


def _sample_until_end(cluster: LocalCluster, job: Submission, words: argparse.Namespace) -> None:
    """Write samples until the time is over or the job has ended."""
    begun = time.monotonic()
    while (minutes := (time.monotonic() - begun) / 60) < words.minutes and job.process.poll() is None:
        write_samples(words.write, sample_memory(cluster, [job.process.pid], minutes))
        time.sleep(words.every_seconds)


def sample_memory(cluster: LocalCluster, others: Sequence[int], minutes: float) -> list[Sample]:
    """One sample of each process of the cluster and of each process id in `others`."""
    nodes = {pid: node for node in cluster.nodes() for pid in marked(cluster.mark(node))}
    nodes |= dict.fromkeys(others, "client")
    found = (sample(minutes, pid, f"{node}: {process_name(command_line(pid))}") for pid, node in nodes.items())
    return [one for one in found if one is not None]


def report(samples: Sequence[Sample], warm_up: float) -> str:
    """The memory table in Markdown; `warm_up` in minutes."""
    found, brief = trends(samples, warm_up)
    last = max(one.minutes for one in samples)
    lines = [
        f"{last:.0f} minutes, of which the first {warm_up:g} do not count",
        "",
        "| process | resident, median MB | its own, median MB | slope, MB an hour (99 %) | |",
        "|---|---:|---:|---:|---|",
        *map(_row, found),
    ]
    return "\n".join([*lines, *([f"\nstarted or ended during the soak: {', '.join(brief)}"] if brief else [])])


def _row(one: Trend) -> str:
    slope = f"{one.slope:+.2f} ± {one.margin:.2f}"
    return f"| {one.process} | {one.resident:.0f} | {one.own:.1f} | {slope} | {one.verdict} |"


if __name__ == "__main__":
    sys.exit(main())
