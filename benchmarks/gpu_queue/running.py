"""Runs a slice of an item in a separate process, which ends with this one."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu_queue.items import CommandItem, Item, Verdict
from benchmarks.gpu_queue.store import Store
from rl_models.runtime.device import DeviceChoice
from rl_models.training.checkpoint import CheckpointError, numbered_checkpoints
from tune_experiments.core.errors import EXIT_CODE, UserError, one_line
from tune_experiments.core.files import read_json, write_json
from tune_experiments.experiment.finding import trial_name
from tune_experiments.results.trial_log import METRICS_FILE, SPEED, read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import CHECKPOINTS

__all__ = ["Task", "resume_task", "run_slice"]

ROOT = Path(__file__).resolve().parents[2]
OUTPUT, RECORD = "output.txt", "record.json"
PACK_INTERVAL_SECONDS = 60.0
"""Shortest time between two archives while an item runs."""
_POLL_SECONDS = 0.5
_KILLED_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


@dataclass
class Task:
    """An item with its run folder, from which most of its state is read."""

    item: Item
    folder: Path
    failure: str = ""  # why it failed; empty if it did not
    has_ended: bool = False  # whether its command has finished, or its training with tests and tables
    _verdict: Verdict | None = None

    def save(self) -> None:
        """Write the record: what the run folder does not hold."""
        record = {"definition": self.definition, "failure": self.failure, "has_ended": self.has_ended}
        write_json(self.folder.parent / RECORD, record)

    @property
    def definition(self) -> dict[str, Any]:
        """The item without its gate and its need of a GPU, which may change."""
        return {key: value for key, value in asdict(self.item).items() if key not in ("gate", "needs_gpu")}

    @property
    def trial(self) -> Path | None:
        """Folder of the trial; None for a command."""
        item = self.item
        return None if isinstance(item, CommandItem) else self.folder / "trials" / trial_name(item.method, item.seed)

    @property
    def status(self) -> str:
        """Status: waiting (also between slices), stopped by its gate, done or failed."""
        if self.failure:
            return "failed"
        if (verdict := self.verdict) is not None and not verdict[0]:
            return "stopped"
        return "done" if self.has_ended else "waiting"

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of its gate, which never changes; None before, and without a gate."""
        if self._verdict is None and self.item.gate is not None:
            self._verdict = self.item.gate.verdict(self._rows())
        return self._verdict

    @property
    def checkpoint(self) -> int:
        """Env steps of its newest checkpoint, 0 without one."""
        folder = self.folder if self.trial is None else self.trial / CHECKPOINTS
        return max((step for step, _ in numbered_checkpoints(folder)), default=0)

    @property
    def line(self) -> str:
        """`NAME env_steps/budget`, with its rate, its gate's verdict and its failure."""
        verdict, status = self.verdict, self.status
        env_steps = self.checkpoint if self.trial is not None else int(self.has_ended)
        env_steps = verdict[1] if verdict is not None and status == "stopped" else env_steps
        parts = [f"{self.item.name} {env_steps}/{self.item.budget_env_steps}"]
        parts += [f"{row[SPEED]:.0f} env steps/s" for row in self._rows()[-1:] if SPEED in row]
        if verdict is not None:
            parts.append(verdict[2])
        elif self.item.gate is not None and status == "done":
            parts.append(f"gate not judged: no row of its log has {self.item.gate.metric} there")
        return ", ".join([*parts, f"failed: {self.failure}"] if self.failure else parts)

    def _rows(self) -> list[dict[str, float]]:
        """Rows of the trial's log, [] without one."""
        return [] if self.trial is None or not (log := self.trial / METRICS_FILE).exists() else read_metrics(log)


def resume_task(item: Item, folder: Path, retries: bool) -> Task:
    """Read an item's record of earlier calls, and check the item if it will run.

    Raises UserError where its script refuses it, or it is done and has changed since.
    """
    task, path = Task(item, folder), folder.parent / RECORD
    if path.exists():
        record = read_json(path)
        task.failure, task.has_ended = str(record.get("failure", "")), record.get("has_ended") is True
        has_changed = record.get("definition") != task.definition
        if has_changed and task.status == "done":
            raise UserError(f"item {item.name} has changed in the queue and is done: give it another name")
        if has_changed or retries:
            task.failure = ""
    if task.status == "waiting":
        item.check()
    task.save()
    return task


def run_slice(task: Task, store: Store, seconds: float, call_seconds: float, device: DeviceChoice) -> None:
    """Run a waiting item until it ends, its gate stops it or `seconds` are up, and record the outcome.

    An item that needs more than `call_seconds` (the whole call) fails, one that needs more than is left does not.
    Raises UserError where there is too much to pack.
    """
    words = task.item.words(task.folder, seconds, device)
    with (task.folder.parent / OUTPUT).open("a+b") as file:
        begin, null = file.tell(), subprocess.DEVNULL
        own_group = _own_group_killed_with_parent
        child = subprocess.Popen(words, cwd=ROOT, preexec_fn=own_group, stdin=null, stdout=file, stderr=file)
        try:
            is_cut = _watch(child, task, store, seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # with its children; saved checkpoints are complete
            child.wait()
        file.seek(begin)
        sentence = _last_sentence(file.read().decode(errors="replace"))
    if task.status == "stopped":
        return
    if is_cut or (child.returncode == EXIT_CODE and "--slice-seconds" in sentence):
        if seconds >= call_seconds:
            task.failure = f"--minutes {call_seconds / 60:g} is too short for it: --retry it with more, or split it"
    elif child.returncode:
        task.failure = f"exit code {child.returncode}: {sentence}"
    else:
        task.has_ended = task.trial is None or read_test_results(task.trial) is not None
    task.save()


def _watch(child: subprocess.Popen[bytes], task: Task, store: Store, seconds: float) -> bool:
    """Wait for the process or its gate and pack its checkpoints; True if a command takes too long."""
    begun = packed_at = time.monotonic()
    packed = task.checkpoint
    while child.poll() is None and task.status != "stopped":
        time.sleep(_POLL_SECONDS)
        now, newest = time.monotonic(), task.checkpoint
        if task.trial is None and now >= begun + seconds:
            return True
        if newest > packed and now >= packed_at + PACK_INTERVAL_SECONDS:
            with contextlib.suppress(CheckpointError):  # its trial deletes one: try later
                store.pack()
                packed_at, packed = time.monotonic(), newest
    return False


def _last_sentence(output: str) -> str:
    """Last error of an output, or else its last line."""
    lines = [one_line(line) for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ") or " failed: " in line]
    return [*lines[-1:], *errors][-1].removeprefix("error: ") if lines else "it said nothing"


def _own_group_killed_with_parent() -> None:
    """Make a process group, which is killed as one, and end with the parent."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_KILLED_WITH_PARENT, signal.SIGKILL)
