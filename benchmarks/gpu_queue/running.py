"""A slice of an item in a process of its own, which dies with this one: what one item breaks, the next does not see."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu_queue.items import CommandItem, Item, ScriptItem, gate_verdict
from benchmarks.gpu_queue.store import Record, Store
from rl_models.runtime.device import DeviceChoice
from rl_models.training.checkpoint import (
    CheckpointError,
    load_state,
    newest_whole_checkpoint,
    numbered_checkpoints,
    path_of,
)
from tune_experiments.core.errors import EXIT_CODE, UserError, one_line
from tune_experiments.experiment.finding import trial_name
from tune_experiments.results.trial_log import METRICS_FILE, SPEED, read_metrics
from tune_experiments.run.curriculum_state import CurriculumState
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.slices import env_steps_of

__all__ = ["checkpoints_of", "line_of", "run_slice", "update_record"]

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = "output.txt"
PACKS_AFTER_SECONDS = 60.0
"""Shortest time between two archives while an item runs."""
_LOOKS_AFTER_SECONDS = 0.5
_KILLED_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def run_slice(item: Item, store: Store, seconds: float, call_seconds: float, device: DeviceChoice) -> None:
    """Run an item until it ends, its gate stops it or time is up, and record what has become of it.

    Args:
        item: a checked one whose record is `waiting`.
        store: where it goes on.
        seconds: what is left for it.
        call_seconds: of the whole call; what needs more than that is wrong, and what needs more than is left is not.
        device: where networks run.

    Raises:
        UserError: the call is too short for the item, or there is too much to pack.
    """
    folder, record = store.folder(item.name), store.records[item.name]
    output = folder.parent / OUTPUT
    with output.open("ab") as file:
        begin = file.tell()
        words = item.words(folder, seconds, device)
        child = subprocess.Popen(
            words, cwd=ROOT, preexec_fn=_die_with_parent, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            is_cut = _watch(child, item, store, seconds)
        finally:
            child.kill()  # what it has saved is whole
            child.wait()
            update_record(item, folder, record)
    sentence, has_all = _last_sentence(output.read_bytes()[begin:].decode(errors="replace")), seconds >= call_seconds
    if record.status == "stopped":
        return
    if is_cut:
        record.failure = f"it did not end in --minutes {call_seconds / 60:g}: split it" if has_all else ""
    elif child.returncode == EXIT_CODE and "--slice-seconds" in sentence:
        if has_all:
            raise UserError(f"item {item.name} learned nothing in this call: give it more --minutes")
    elif child.returncode:
        record.failure = f"exit code {child.returncode}: {sentence}"
    elif isinstance(item, CommandItem):
        record.status, record.env_steps = "done", 1
    elif read_test_results(_trial(item, folder)) is not None:
        record.status = "done"
        record.failure = "" if record.gate or not item.gate else f"no row of its log has {item.gate.metric} at its gate"
    record.status = "failed" if record.failure else record.status


def _watch(child: subprocess.Popen[bytes], item: Item, store: Store, seconds: float) -> bool:
    """Wait for the process, pack what it has saved, and return at its gate; True where a command takes too long."""
    folder, record = store.folder(item.name), store.records[item.name]
    begun = packed_at = time.monotonic()
    packed = _newest_step(item, folder)
    while child.poll() is None and record.status == "waiting":
        time.sleep(_LOOKS_AFTER_SECONDS)
        if isinstance(item, CommandItem):
            if time.monotonic() >= begun + seconds:
                return True
            continue
        _judge_gate(item, folder, record)
        newest = _newest_step(item, folder)
        if newest > packed and time.monotonic() >= packed_at + PACKS_AFTER_SECONDS:
            with contextlib.suppress(CheckpointError, FileNotFoundError):  # its trial deletes one: the next time
                store.keep(item.name, checkpoints_of(item, folder, is_done=False))
                if read_test_results(_trial(item, folder)) is None:  # else there may be a newer checkpoint
                    store.pack()
                packed_at, packed = time.monotonic(), newest
    return False


def _last_sentence(said: str) -> str:
    """Sentence of an error, or else the last line of the output."""
    lines = [one_line(line) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ") or " failed: " in line]
    return [*lines[-1:], *errors][-1].removeprefix("error: ") if lines else "it said nothing"


def update_record(item: Item, folder: Path, record: Record) -> None:
    """Record the gate's result, where it can be judged, and the env steps."""
    if isinstance(item, ScriptItem):
        _judge_gate(item, folder, record)
        if record.status != "stopped" and (newest := _newest(item, folder)) is not None:
            record.env_steps = env_steps_of(newest)


def _judge_gate(item: ScriptItem, folder: Path, record: Record) -> None:
    path = _trial(item, folder) / METRICS_FILE
    if item.gate is None or record.gate or not path.exists():
        return
    if (verdict := gate_verdict(item.gate, read_metrics(path))) is not None:
        is_passed, env_steps, record.gate = verdict
        if not is_passed:
            record.status, record.env_steps = "stopped", env_steps


def checkpoints_of(item: Item, folder: Path, is_done: bool) -> list[tuple[Path, bool]]:
    """Checkpoints that must travel, each with whether all of it must, or its weights alone.

    Args:
        item: of the queue.
        folder: of its run.
        is_done: nothing of it is trained on.
    """
    if not isinstance(item, ScriptItem) or (newest := _newest(item, folder)) is None:
        return []
    curriculum = CurriculumState(item.plan)
    curriculum.restore(load_state(newest))
    others = {path_of(newest.parent, number) for number in curriculum.kept} - {newest}
    return [(newest, not is_done), *((path, False) for path in sorted(others))]


def line_of(item: Item, store: Store) -> str:
    """The line `NAME env_steps/budget` of an item, with its rate, its gate's result and why it failed."""
    record = store.records[item.name]
    said = [f"{item.name} {record.env_steps}/{item.budget_env_steps}"]
    if isinstance(item, ScriptItem) and (path := _trial(item, store.folder(item.name)) / METRICS_FILE).exists():
        rates = [row[SPEED] for row in read_metrics(path)[-1:] if SPEED in row]
        said += [f"{rate:.0f} env steps/s" for rate in rates]
    said += [record.gate] if record.gate else []
    return ", ".join([*said, f"failed: {record.failure}"] if record.failure else said)


def _trial(item: ScriptItem, folder: Path) -> Path:
    return folder / "trials" / trial_name(item.method, item.seed)


def _newest(item: Item, folder: Path) -> Path | None:
    """Newest whole checkpoint of the trial."""
    return newest_whole_checkpoint(_trial(item, folder) / "checkpoints") if isinstance(item, ScriptItem) else None


def _newest_step(item: Item, folder: Path) -> int:
    """Env steps of the newest checkpoint, whole or not; -1 without one."""
    if not isinstance(item, ScriptItem):
        return -1
    return max((step for step, _ in numbered_checkpoints(_trial(item, folder) / "checkpoints")), default=-1)


def _die_with_parent() -> None:
    """A kill of this process must not leave one that goes on writing to its folder."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_KILLED_WITH_PARENT, signal.SIGKILL)
