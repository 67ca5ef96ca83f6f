"""The faults: each function breaks one component while a job trains, and reports the cost.

The first group breaks a submitted job from outside: processes, nodes, files and folders. The second group runs
`faulty.py`, where the fault is inside a process: an environment that raises or hangs, or a gradient that is NaN.
"""

import contextlib
import functools
import itertools
import math
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cluster.testing.fault_injection.faulty import AT_UPDATE, BUILT_IN_FAULTS
from cluster.testing.local_cluster import ROOT, LocalCluster, wait_until
from cluster.testing.processes import command_line, marked
from cluster.testing.submission import Submission, TrialFolder
from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint
from rl_models.training.loop import SKIPPED

METHOD, INTERVAL = "sync_13_cordial", 640
FLAGS = ["--preset", "smoke", "--methods", METHOD, "--checkpoint-every-env-steps", str(INTERVAL)]
FLAGS += ["--budget-env-steps", "4000", "--validate-every-env-steps", "4000"]
TRIAL, RUNNER, LEARNER, DRIVER = "ray::ImplicitFunc", "FragmentEnvRunner", "_WrappedExecutable", "cluster.entry"
_LIMIT_SECONDS = 600.0
FRAGMENT_SECONDS = 15
"""Time limit of a fragment on this cluster; 540 s elsewhere."""
_SYMPTOMS = {"world_raises": "injected fault", "world_hangs": "Timeout ("}
"""Built-in fault -> words in the log of the process in which it happens."""


@dataclass(frozen=True)
class Finding:
    """Cost of one fault."""

    fault: str  # description of the fault
    lost_env_steps: int | None  # env steps that were repeated; None if not measured
    seconds: float  # time until training was past the point of the fault
    seen: str  # symptom for the user
    is_whole: bool  # whether the run ended with results and its log has no missing and no double row


def as_table(findings: Sequence[Finding], interval: int) -> str:
    """All findings in Markdown; `interval` is the env steps between two checkpoints."""
    heading = f"env steps lost (a checkpoint every {interval:,})"
    lines = [f"| fault | {heading} | seconds until beyond it | the user sees | completed |", "|---|---:|---:|---|---|"]
    for one in findings:
        seen = " ".join(one.seen.split()).replace("|", "/")
        whole = "yes" if one.is_whole else "**no**"
        lost = "not measured" if one.lost_env_steps is None else f"{one.lost_env_steps:,}"
        lines.append(f"| {one.fault} | {lost} | {one.seconds:.0f} | {seen} | {whole} |")
    return "\n".join([*lines, ""])


class Job:
    """A submitted smoke run that has written its first checkpoint.

    Args:
        cluster: the cluster that runs it.
        flags: more flags of the experiment, after `FLAGS`.

    Attributes:
        at: env steps of the trial when it was broken.
    """

    def __init__(self, cluster: LocalCluster, flags: Sequence[str] = ()) -> None:
        self.cluster, self._flags = cluster, [*FLAGS, *flags]
        self.out = cluster.home / f"out_{secrets.token_hex(3)}"
        self.submission = self._submit()
        self.trial: TrialFolder = self.submission.trial(f"{METHOD}-seed0")
        self.submission.wait_for_checkpoint(self.trial, seconds=_LIMIT_SECONDS)
        self.at, self._noted_at, self._begun = 0, 0.0, 0.0

    def _submit(self) -> Submission:
        return Submission(self.cluster, "furnmove_sync", self._flags, self.out)

    def mark(self) -> None:
        """Record the progress of training, right before it is broken."""
        self._begun = time.monotonic()
        self.note()

    def note(self) -> None:
        """Record the progress of training that goes on for a while after it is broken."""
        if (env_steps := self.trial.env_steps()) >= self.at:
            self.at, self._noted_at = env_steps, time.time()

    def kill(self, word: str, most: int = 100) -> None:
        """Kill at most `most` processes whose command line contains the word; a RuntimeError if there is none."""
        found = list(self.submission.processes(word))[:most]
        if not found:
            raise RuntimeError(f"no process is called {word}")
        self.mark()
        for pid in found:
            os.kill(pid, signal.SIGKILL)

    def submit_again(self) -> str:
        """Submit the same command again; returns the last line of the ended submission."""
        self.submission.process.wait(timeout=_LIMIT_SECONDS)
        printed_line = self.last_line()
        self.submission = self._submit()
        return printed_line

    def last_line(self) -> str:
        """The last printed line that is not Ray's own."""
        lines = [line for line in self.submission.printed.splitlines() if line.strip()]
        own = [line for line in lines if not re.match(r"\d{4}-\d\d-\d\d |\s|\x1b|\(raylet", line)]
        return (own or lines or [""])[-1][:240]

    def line_with(self, word: str) -> str:
        """The first printed line that contains the word; empty if there is none."""
        return next((line for line in self.submission.printed.splitlines() if word in line), "")[:240]

    def finding(self, fault: str, symptom: str = "continues from its newest", seen: str = "") -> Finding:
        """Wait until training has passed the point of the fault and has ended, and report.

        Lost are the env steps before the fault whose rows were written after it; seen is by default the line with the
        symptom.
        """
        wait_until(self._is_beyond, _LIMIT_SECONDS, f"training stopped after: {fault}\n{self.submission.printed}")
        seconds = time.monotonic() - self._begun
        code = self.submission.wait(_LIMIT_SECONDS)
        rows = self.trial.rows()
        steps = [int(row["env_steps"]) for row in rows]
        kept = max((int(row["env_steps"]) for row in rows if row["wall_time"] <= self._noted_at), default=0)
        is_whole = code == 0 and self.trial.is_finished() and len(steps) == len(set(steps)) and steps == sorted(steps)
        return Finding(fault, max(0, self.at - kept), seconds, seen or self.line_with(symptom) or "nothing", is_whole)

    def _is_beyond(self) -> bool:
        return self.trial.env_steps() > self.at or self.trial.is_finished()


def stop_jobs(cluster: LocalCluster) -> None:
    """Kill the drivers of all jobs that still run."""
    for pid in marked(cluster.mark("head")):
        if DRIVER in command_line(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def env_runner_killed(cluster: LocalCluster) -> Finding:
    """RLlib continues with the other runner and restarts the dead one."""
    job = Job(cluster, ["--workers.runners", "2", "--workers.worlds-per-runner", "8"])
    job.kill(RUNNER, most=1)
    return job.finding("env runner killed")


def learner_killed(cluster: LocalCluster) -> Finding:
    """The trial fails and restarts from its newest checkpoint."""
    job = Job(cluster, ["--workers.learners", "1"])
    job.kill(LEARNER)
    return job.finding("learner killed")


def trial_killed(cluster: LocalCluster) -> Finding:
    """The trial restarts from its newest checkpoint."""
    job = Job(cluster)
    job.kill(TRIAL)
    return job.finding("trial's own process killed")


def worker_node_killed(cluster: LocalCluster) -> Finding:
    """The trial restarts on another node."""
    job = Job(cluster)
    node = next(iter(job.submission.processes(TRIAL).values()))
    job.mark()
    cluster.kill_node(node)
    finding = job.finding("worker node killed")
    cluster.add_worker()
    return finding


def driver_killed(cluster: LocalCluster) -> Finding:
    """The job fails; the same command continues it."""
    job = Job(cluster)
    job.kill(DRIVER)
    printed_line = job.submit_again()
    return job.finding("driver killed; the same command given again", seen=printed_line)


def head_gone(cluster: LocalCluster) -> Finding:
    """The cluster ends with its head; the same command continues on a new cluster."""
    job = Job(cluster)
    job.mark()
    cluster.kill_node("head")
    job.submission.process.wait(timeout=_LIMIT_SECONDS)
    for path in cluster.home.glob("worker_*.log"):
        cluster.kill_node(path.stem)
    cluster.start_head()
    for _ in range(cluster.workers):
        cluster.add_worker()
    printed_line = job.submit_again()
    return job.finding("head gone; a new cluster, the same command given again", seen=printed_line)


def disk_full(cluster: LocalCluster) -> Finding:
    """The trial cannot write a file above 8 KiB; earlier checkpoints stay intact."""
    job = Job(cluster)
    (pid, *_) = job.submission.processes(TRIAL)
    job.mark()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, 8192))

    def is_refused() -> bool:
        job.note()
        return bool(job.line_with("waiting until") or job.line_with("continues from its newest"))

    wait_until(is_refused, _LIMIT_SECONDS, "nothing was refused")
    return job.finding("no room for a checkpoint")


def storage_away(cluster: LocalCluster, seconds: float = 20.0) -> Finding:
    """The trial waits until its folder is back."""
    job = Job(cluster)
    away = job.trial.path.with_name("away")
    job.mark()
    job.trial.path.rename(away)
    time.sleep(seconds)
    away.rename(job.trial.path)
    job.note()
    return job.finding(f"trial's folder away for {seconds:.0f} s", "waiting until")


def truncated_checkpoint(cluster: LocalCluster) -> Finding:
    """The run detects that the newest checkpoint is damaged, and continues from the one before."""
    job = Job(cluster)
    job.submission.wait_for_checkpoint(job.trial, beyond=job.trial.saved(), seconds=_LIMIT_SECONDS)
    job.kill(DRIVER)
    newest = newest_complete_checkpoint(job.trial.path / "checkpoints")
    assert newest is not None
    weights: Path = newest / "weights.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    job.submit_again()
    return job.finding("driver killed and newest checkpoint truncated", "is damaged")


def built_in(fault: str, cluster: LocalCluster) -> Finding:
    """Train with a fault inside a process, and read the log that the run leaves."""
    folder = cluster.home / f"{fault}_{secrets.token_hex(3)}"
    folder.mkdir()
    environment = {**os.environ, **cluster.environment, "RAY_ADDRESS": cluster.address, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cluster.testing.fault_injection.faulty", fault, str(folder)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=900)
    trial = TrialFolder(folder)
    if done.returncode or not trial.rows():
        return Finding(fault.replace("_", " "), None, math.nan, done.stderr.strip()[-300:], False)
    times = [row["wall_time"] for row in trial.rows()]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    reported = [int(line) for line in done.stdout.splitlines() if line.isdecimal()]
    lost = sum(max(0, before - after) for before, after in itertools.pairwise(reported))
    is_whole = trial.is_finished() and _happened(fault, folder.name, trial)
    seen = _seen(fault, cluster, trial)
    return Finding(fault.replace("_", " "), lost, max(gaps, default=math.nan), seen, is_whole)


def _seen(fault: str, cluster: LocalCluster, trial: TrialFolder) -> str:
    """What logs say of a built-in fault: the trial's, or that of the process in which it happened."""
    if fault == "nan_gradient":
        return f"{SKIPPED} up to {max(row.get(SKIPPED, 0.0) for row in trial.rows()):.2g}"
    logs = (path.read_text(errors="replace") for path in cluster.home.rglob("worker-*.err"))
    lines = (line for log in logs for line in log.splitlines() if _SYMPTOMS[fault] in line)
    return next((f"in a process's log: {line[:200]}" for line in lines), "nothing")


def _happened(fault: str, name: str, trial: TrialFolder) -> bool:
    newest = newest_complete_checkpoint(trial.path / "checkpoints")
    assert newest is not None, f"{name} has no checkpoint"
    weights = load_checkpoint(newest).tensors["weights"]
    is_finite = all(bool(np.isfinite(np.asarray(value)).all()) for value in weights.values())
    if fault != "nan_gradient":
        return is_finite and (trial.path / "fault_happened").exists()
    skipped = [row for row in trial.rows() if row.get(SKIPPED)]
    return is_finite and bool(skipped) and trial.rows()[-1]["learner/optimiser_steps"] > AT_UPDATE


_OF_THE_CLUSTER: tuple[Callable[[LocalCluster], Finding], ...] = (
    env_runner_killed,
    learner_killed,
    trial_killed,
    worker_node_killed,
    driver_killed,
    disk_full,
    storage_away,
    truncated_checkpoint,
    head_gone,
)
FAULTS: dict[str, Callable[[LocalCluster], Finding]] = {
    **{one.__name__: one for one in _OF_THE_CLUSTER},
    **{fault: functools.partial(built_in, fault) for fault in BUILT_IN_FAULTS},
}
"""Name -> the function that makes the fault happen on a cluster."""
