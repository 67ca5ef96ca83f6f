"""Drills on submitted jobs: processes, nodes, the head, files and folders."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.testing.fault_injection.report import Finding
from cluster.testing.local_cluster import LocalCluster, wait_until
from cluster.testing.processes import command_of, marked
from cluster.testing.submission import Submission, TrialFolder
from rl_models.training.checkpoint import newest_whole_checkpoint

__all__ = ["DRILLS", "INTERVAL", "end_all"]

METHOD, INTERVAL = "sync_13_cordial", 640
FLAGS = ["--preset", "smoke", "--methods", METHOD, "--checkpoint-every-env-steps", str(INTERVAL)]
FLAGS += ["--budget-env-steps", "4000", "--validate-every-env-steps", "4000"]
TRIAL, RUNNER, LEARNER, DRIVER = "ray::ImplicitFunc", "FragmentEnvRunner", "_WrappedExecutable", "cluster.entry"
_LIMIT_SECONDS = 600.0


class Job:
    """A smoke run under way, that a drill breaks and watches.

    Args:
        cluster: where.
        flags: beside `FLAGS`.
    """

    def __init__(self, cluster: LocalCluster, flags: Sequence[str] = ()) -> None:
        self.cluster, self._flags = cluster, [*FLAGS, *flags]
        self.out = cluster.home / f"out_{secrets.token_hex(3)}"
        self.submission = self._submit()
        self.trial: TrialFolder = self.submission.trial(f"{METHOD}-seed0")
        self.submission.wait_for_checkpoint(self.trial, seconds=_LIMIT_SECONDS)
        self.at, self.saved, self._begun = 0, 0, 0.0

    def _submit(self) -> Submission:
        return Submission(self.cluster, "furnmove_sync", self._flags, self.out)

    def mark(self) -> None:
        """Remember where training stands: now something breaks."""
        self.at, self.saved, self._begun = self.trial.env_steps(), self.trial.saved(), time.monotonic()

    def kill(self, word: str, most: int = 100) -> None:
        """Kill the processes of this cluster that are called so."""
        found = list(self.submission.processes(word))[:most]
        if not found:
            raise RuntimeError(f"no process is called {word}")
        self.mark()
        for pid in found:
            os.kill(pid, signal.SIGKILL)

    def submit_again(self) -> str:
        """Give the same command again; the last words of the one that ended."""
        self.submission.process.wait(timeout=_LIMIT_SECONDS)
        said = self.last_words()
        self.submission = self._submit()
        return said

    def last_words(self) -> str:
        """The last line that was not Ray's own."""
        lines = [line for line in self.submission.printed.splitlines() if line.strip()]
        own = [line for line in lines if not re.match(r"\d{4}-\d\d-\d\d |\s|\x1b|\(raylet", line)]
        return (own or lines or [""])[-1][:240]

    def said(self, word: str) -> str:
        """The line of the output that holds the word."""
        return next((line for line in self.submission.printed.splitlines() if word in line), "")[:240]

    def finding(self, fault: str, lost: int | None = None, seen: str = "") -> Finding:
        """Watch training come beyond the fault and to its end.

        Args:
            fault: what was broken.
            lost: env steps that were lost; by default, those since the checkpoint.
            seen: what the user saw; by default, what the run says of a trial that goes on.
        """
        wait_until(self._is_beyond, _LIMIT_SECONDS, f"training did not go on after: {fault}\n{self.submission.printed}")
        seconds = time.monotonic() - self._begun
        code = self.submission.wait(_LIMIT_SECONDS)
        steps = [int(row["env_steps"]) for row in self.trial.rows()]
        is_whole = code == 0 and self.trial.is_finished() and len(steps) == len(set(steps)) and steps == sorted(steps)
        seen = seen or self.said("goes on from") or "nothing"
        return Finding(fault, self.at - self.saved if lost is None else lost, seconds, seen, is_whole)

    def _is_beyond(self) -> bool:
        return self.trial.env_steps() > self.at or self.trial.is_finished()


def end_all(cluster: LocalCluster) -> None:
    """End whatever job still runs."""
    for pid in marked(cluster.mark("head")):
        if DRIVER in command_of(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def env_runner_killed(cluster: LocalCluster) -> Finding:
    """RLlib goes on with the other runner and starts the dead one anew."""
    job = Job(cluster, ["--workers.runners", "2", "--workers.worlds-per-runner", "8"])
    job.kill(RUNNER, most=1)
    return job.finding("env runner killed", lost=0)


def learner_killed(cluster: LocalCluster) -> Finding:
    """The trial fails and is started again from its checkpoint."""
    job = Job(cluster, ["--workers.learners", "1"])
    job.kill(LEARNER)
    return job.finding("learner killed")


def trial_killed(cluster: LocalCluster) -> Finding:
    """The same."""
    job = Job(cluster)
    job.kill(TRIAL)
    return job.finding("trial's own process killed")


def worker_node_killed(cluster: LocalCluster) -> Finding:
    """The trial is started again on another node."""
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
    said = job.submit_again()
    return job.finding("driver killed; the same command given again", seen=said)


def head_gone(cluster: LocalCluster) -> Finding:
    """The cluster is gone with it; the same command on a new one continues."""
    job = Job(cluster)
    job.mark()
    cluster.kill_node("head")
    job.submission.process.wait(timeout=_LIMIT_SECONDS)
    for path in cluster.home.glob("worker_*.log"):
        cluster.kill_node(path.stem)
    cluster.start_head()
    for _ in range(cluster.workers):
        cluster.add_worker()
    said = job.submit_again()
    return job.finding("head gone; a new cluster, the same command given again", seen=said)


def disk_full(cluster: LocalCluster) -> Finding:
    """The trial can write no file of more than a few kilobytes; the earlier checkpoints stay whole."""
    job = Job(cluster)
    (pid, *_) = job.submission.processes(TRIAL)
    job.mark()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, 8192))
    wait_until(
        lambda: bool(job.said("waiting until") or job.said("goes on from")), _LIMIT_SECONDS, "nothing was refused"
    )
    job.at = max(job.at, job.trial.env_steps())
    return job.finding("no room for a checkpoint")


def storage_away(cluster: LocalCluster, seconds: float = 20.0) -> Finding:
    """The trial waits until its folder is there again."""
    job = Job(cluster)
    away = job.trial.path.with_name("away")
    job.mark()
    job.trial.path.rename(away)
    time.sleep(seconds)
    away.rename(job.trial.path)
    job.at = max(job.at, job.trial.env_steps())
    return job.finding(f"trial's folder away for {seconds:.0f} s", seen=job.said("waiting until"))


def truncated_checkpoint(cluster: LocalCluster) -> Finding:
    """The newest checkpoint is told from a whole one, and the one before is taken."""
    job = Job(cluster)
    job.submission.wait_for_checkpoint(job.trial, beyond=job.trial.saved(), seconds=_LIMIT_SECONDS)
    job.kill(DRIVER)
    newest = newest_whole_checkpoint(job.trial.path / "checkpoints")
    assert newest is not None
    weights: Path = newest / "weights.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    job.saved = job.trial.saved()
    job.submit_again()
    return job.finding("driver killed and newest checkpoint truncated", seen="nothing but the steps that are repeated")


DRILLS: dict[str, Callable[[LocalCluster], Finding]] = {
    one.__name__: one
    for one in (
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
}
