"""A slice of an item in a process of its own, which dies with this one: what one item breaks, the next does not see."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu_queue.items import CommandItem, Item, ScriptItem, gate_verdict
from benchmarks.gpu_queue.store import Record, Store
from rl_models.device import DeviceChoice
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

__all__ = ["line_of", "run_slice"]

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = "output.txt"
PACKS_AFTER_SECONDS = 60.0
"""Shortest time between two archives while an item runs."""
_LOOKS_AFTER_SECONDS = 0.5
_STOP_SECONDS = 30.0
_KILLED_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def run_slice(item: Item, store: Store, seconds: float, whole_seconds: float, device: DeviceChoice) -> None:
    """Run an item until it ends, its gate stops it or time is up, and record what has become of it.

    Args:
        item: a checked one whose record is `waiting`.
        store: where it goes on.
        seconds: what is left for it.
        whole_seconds: of the call; an item that gets nowhere in as many is to blame, and not what was left.
        device: where networks run.

    Raises:
        UserError: there is too little time, or too much to pack.
    """
    folder, record = store.folder(item.name), store.records[item.name]
    with (folder.parent / OUTPUT).open("ab") as output:
        begin = output.tell()
        child = subprocess.Popen(
            item.words(folder, seconds, device),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=_die_with_parent,
        )
        try:
            is_cut = _watch(child, item, store, seconds)
        finally:
            _stop(child)
            _update(item, folder, record)
    said = (folder.parent / OUTPUT).read_bytes()[begin:].decode(errors="replace")
    has_all = seconds >= whole_seconds
    if record.status == "waiting" and not is_cut:
        _judge(item, folder, record, child.returncode, said, has_all)
    elif is_cut and has_all:
        record.status, record.failure = "failed", f"did not end in --minutes {whole_seconds / 60:g}: split it"


def _watch(child: subprocess.Popen[bytes], item: Item, store: Store, seconds: float) -> bool:
    """Wait for the process, pack what it has saved, and stop it at its gate; whether a command had to be cut."""
    folder, record = store.folder(item.name), store.records[item.name]
    ends_at = time.monotonic() + seconds
    packed_at, packed = time.monotonic(), _newest_step(item, folder)
    while child.poll() is None:
        time.sleep(_LOOKS_AFTER_SECONDS)
        if isinstance(item, CommandItem):
            if time.monotonic() >= ends_at:
                return True
            continue
        _judge_gate(item, folder, record)
        if record.status == "stopped":
            return False
        if time.monotonic() >= packed_at + PACKS_AFTER_SECONDS and (newest := _newest_step(item, folder)) != packed:
            _pack_meanwhile(item, store)
            packed_at, packed = time.monotonic(), newest
    return False


def _pack_meanwhile(item: ScriptItem, store: Store) -> None:
    """Pack while the trial goes on, unless it has just saved or deleted a checkpoint: then the next time."""
    folder = store.folder(item.name)
    newest = _newest_step(item, folder)
    try:
        store.keep(item.name, checkpoints_of(item, folder, is_done=False))
    except (CheckpointError, FileNotFoundError):
        return
    if _newest_step(item, folder) == newest and read_test_results(_trial(item, folder)) is None:
        store.pack()


def _judge(item: Item, folder: Path, record: Record, code: int, said: str, has_all: bool) -> None:
    """Whether an item whose process has ended is done, failed or goes on.

    Raises:
        UserError: the slice was too short, although it had the whole call.
    """
    sentence = _last_sentence(said)
    if code == EXIT_CODE and "--slice-seconds" in sentence:
        if has_all:
            raise UserError(f"item {item.name} learned nothing in this call: give it more --minutes")
    elif code:
        record.status, record.failure = "failed", f"exit code {code}: {sentence}"
    elif isinstance(item, CommandItem):
        record.status, record.env_steps = "done", 1
    elif read_test_results(_trial(item, folder)) is not None:
        record.status = "done"
        if item.gate is not None and not record.gate:
            record.status, record.failure = "failed", f"no row of its log has {item.gate.metric} at its gate"


def _last_sentence(said: str) -> str:
    """What an error says, or else the last line of the output."""
    lines = [one_line(line) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ") or " failed: " in line]
    return [*lines[-1:], *errors][-1].removeprefix("error: ") if lines else "it said nothing"


def _update(item: Item, folder: Path, record: Record) -> None:
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


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End a process as Control-C would, or at once when it does not listen."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            child.send_signal(number)
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                continue


def _die_with_parent() -> None:
    """A kill of this process must not leave one that goes on writing to its folder."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_KILLED_WITH_PARENT, signal.SIGKILL)
