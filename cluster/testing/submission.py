"""A job under way on a local cluster, seen as its user sees it: what it prints, and what lies in its folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cluster.testing.local_cluster import ROOT, LocalCluster, wait_until
from cluster.testing.processes import command_of, marked
from rl_models.training.checkpoint import newest_whole_checkpoint
from tune_experiments.experiment.errors import UserError
from tune_experiments.run.trial_log import read_metrics

__all__ = ["Submission", "TrialFolder"]


class TrialFolder:
    """What a trial has written so far."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[dict[str, float]]:
        """The lines of its log."""
        try:
            return read_metrics(self.path / "metrics.jsonl")
        except (UserError, OSError):  # none yet, or its storage is away
            return []

    def env_steps(self) -> int:
        """Of its last row."""
        rows = self.rows()
        return int(rows[-1]["env_steps"]) if rows else 0

    def saved(self) -> int:
        """Env steps of its newest whole checkpoint."""
        newest = newest_whole_checkpoint(self.path / "checkpoints")
        return int(newest.name.removeprefix("checkpoint_")) if newest else 0

    def is_finished(self) -> bool:
        """Whether it has its outcome."""
        return (self.path / "outcome.json").exists()


class Submission:
    """`python -m cluster.submit EXPERIMENT ... --out OUT` as a process of its own.

    Args:
        cluster: where to.
        experiment, flags: what.
        out: an absolute folder.
    """

    def __init__(self, cluster: LocalCluster, experiment: str, flags: Sequence[str], out: Path) -> None:
        self.cluster, self.out = cluster, out
        self._log = cluster.home / f"submission_{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "cluster.submit", experiment, *flags, "--out", str(out)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=ROOT, env=os.environ | cluster.environment
            )

    @property
    def printed(self) -> str:
        """What its user has seen."""
        return self._log.read_text(errors="replace")

    def trial(self, name: str) -> TrialFolder:
        """The folder of one of its trials."""
        return TrialFolder(self.out / "trials" / name)

    def wait(self, seconds: float = 600) -> int:
        """Wait for its end; the exit code."""
        return self.process.wait(timeout=seconds)

    def wait_for_checkpoint(self, trial: TrialFolder, beyond: int = 0, seconds: float = 300) -> int:
        """Wait until a checkpoint newer than `beyond` env steps is there and training has gone on; its env steps."""

        def is_there() -> bool:
            if self.process.poll() is not None:
                raise RuntimeError(f"the job ended before it had a checkpoint:\n{self.printed[-3000:]}")
            return trial.saved() > beyond and trial.env_steps() > trial.saved()

        wait_until(
            is_there, seconds, f"{trial.path} has no checkpoint beyond {beyond} env steps:\n{self.printed[-2000:]}"
        )
        return trial.saved()

    def processes(self, word: str) -> dict[int, str]:
        """Process id -> node, of the cluster's processes whose command line holds the word."""
        marks = {node: self.cluster.mark(node) for node in self.cluster.nodes()}
        return {pid: node for node, mark in marks.items() for pid in marked(mark) if word in command_of(pid)}
