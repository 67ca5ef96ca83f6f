"""A job on a local cluster for its user: output, files, and the refusal of a wrong token."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.testing.local_cluster import ROOT, LocalCluster, wait_until
from cluster.testing.processes import command_line, marked
from rl_models.training.checkpoint import newest_complete_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.final_evaluation import TEST_RESULTS_FILE

WRONG_TOKENS: Mapping[str, str | None] = {"no token": None, "a wrong token": "0" * 64}
"""Description -> token, of clients that a cluster must refuse."""


class TrialFolder:
    """Files of a trial so far."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[dict[str, float]]:
        """The rows of its log."""
        try:
            return read_metrics(self.path / METRICS_FILE)
        except (UserError, OSError):  # there is no log yet, or its storage is not reachable
            return []

    def env_steps(self) -> int:
        """Env steps in the last row of its log."""
        rows = self.rows()
        return int(rows[-1]["env_steps"]) if rows else 0

    def saved(self) -> int:
        """Env steps of its newest complete checkpoint."""
        newest = newest_complete_checkpoint(self.path / "checkpoints")
        return int(newest.name.removeprefix("checkpoint_")) if newest else 0

    def is_finished(self) -> bool:
        """Whether it has written its final results."""
        return (self.path / TEST_RESULTS_FILE).exists()


class Submission:
    """`python -m cluster.submit EXPERIMENT ... --out OUT` as a process of its own; `flags` lack `--out`."""

    def __init__(self, cluster: LocalCluster, experiment: str, flags: Sequence[str], out: Path) -> None:
        self.cluster, self.out = cluster, out
        self._log = cluster.home / f"submission_{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "cluster.submit", experiment, *flags, "--out", str(out)]
        with self._log.open("wb") as log:
            environment = os.environ | cluster.environment
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment)

    @property
    def printed(self) -> str:
        """Text that the submission has printed so far."""
        return self._log.read_text(errors="replace")

    def trial(self, name: str) -> TrialFolder:
        """The folder of one of its trials."""
        return TrialFolder(self.out / "trials" / name)

    def wait(self, seconds: float = 600) -> int:
        """Wait at most `seconds` for its end, and return its exit code."""
        return self.process.wait(timeout=seconds)

    def wait_for_checkpoint(self, trial: TrialFolder, beyond: int = 0, seconds: float = 300) -> int:
        """Wait for a checkpoint beyond this number of env steps and for training after it; returns its env steps.

        Raises RuntimeError where the job ended first, and TimeoutError where there is none after `seconds`.
        """

        def is_there() -> bool:
            if self.process.poll() is not None:
                raise RuntimeError(f"the job ended before it had a checkpoint:\n{self.printed[-3000:]}")
            return trial.saved() > beyond and trial.env_steps() > trial.saved()

        failure = f"{trial.path} has no checkpoint beyond {beyond} env steps:\n{self.printed[-2000:]}"
        wait_until(is_there, seconds, failure)
        return trial.saved()

    def processes(self, word: str) -> dict[int, str]:
        """Process id -> node, of all processes of the cluster whose command line contains the word."""
        marks = {node: self.cluster.mark(node) for node in self.cluster.nodes()}
        return {pid: node for node, mark in marks.items() for pid in marked(mark) if word in command_line(pid)}


def refusal(cluster: LocalCluster, experiment: str, flags: Sequence[str], token: str | None) -> str:
    """Error message for this token (None: no token); "" if the output is not exactly one sentence."""
    with tempfile.TemporaryDirectory() as home:  # Ray would find a token in ~/.ray
        command = [sys.executable, "-m", "cluster.submit", experiment, *flags, "--out", f"{home}/out"]
        environment = _environment(cluster, home, token)
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    printed = done.stderr.strip()
    is_refused = done.returncode != 0 and not done.stdout and printed.startswith("error: ") and "\n" not in printed
    return printed.replace(cluster.api_address, "http://HOST:PORT") if is_refused else ""


def _environment(cluster: LocalCluster, home: str, token: str | None) -> dict[str, str]:
    known = os.environ | cluster.environment | {"HOME": home}
    variables = {name: value for name, value in known.items() if not name.startswith("RAY_AUTH_TOKEN")}
    return variables if token is None else variables | {"RAY_AUTH_TOKEN": token}
