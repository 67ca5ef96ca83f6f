"""A trial's folder may be away, full or taken; a trial then waits, or says in one sentence what is wrong."""

import multiprocessing
import os
from collections import namedtuple
from types import SimpleNamespace

import pytest

from rl_models.training.checkpoint_files import CheckpointError
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.run import trial_errors
from tune_experiments.run.trial_errors import lock_folder, wait_for_folder, waiting_for_storage
from tune_experiments.run.tune_display import TrialDisplay


@pytest.fixture(autouse=True)
def looks_often(monkeypatch):
    monkeypatch.setattr(trial_errors, "POLL_SECONDS", 0.02)


def test_a_folder_that_no_one_made_here_is_named_with_its_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere .*--out"):
        wait_for_folder(tmp_path / "nowhere", print, timeout_seconds=0)


def test_asking_a_folder_leaves_it_as_it_was(tmp_path):
    mine = tmp_path / f".probe_{os.getpid()}"
    mine.write_text("mine")
    wait_for_folder(tmp_path, print, timeout_seconds=0)
    assert list(tmp_path.iterdir()) == [mine] and mine.read_text() == "mine"


def test_it_waits_for_a_folder_that_comes_back_and_says_so_once(tmp_path, monkeypatch):
    said, looked = [], []
    folder = tmp_path / "trial"

    def pause(seconds):
        looked.append(seconds)
        if len(looked) == 3:
            folder.mkdir()

    monkeypatch.setattr(trial_errors.time, "sleep", pause)
    wait_for_folder(folder, said.append, TIMEOUT_SECONDS)
    assert len(looked) == 3
    assert len(said) == 1
    assert str(folder) in said[0]


def test_an_error_of_the_disk_is_held_back_until_the_disk_takes_files(tmp_path, monkeypatch):
    (tmp_path / "checkpoints" / "checkpoint_000001").mkdir(parents=True)
    (tmp_path / "checkpoints" / "checkpoint_000001" / "weights").write_bytes(b"\0" * 5_000_000)
    usage = namedtuple("usage", "free")
    free = [10, 10, 10, 10_000_000]
    monkeypatch.setattr(
        trial_errors.shutil, "disk_usage", lambda path: usage(free.pop(0) if len(free) > 1 else free[0])
    )
    said = []
    free.insert(0, 10_000_000)  # at the start there was room
    with pytest.raises(CheckpointError, match="No space"), waiting_for_storage(tmp_path, said.append, TIMEOUT_SECONDS):
        raise CheckpointError("No space left on device")
    assert free == [10_000_000], "it looked until there was room for another checkpoint"
    assert said == [said[0]]
    assert "0.0 MiB" in said[0] and "4.8" in said[0]


@pytest.mark.parametrize(
    ("last_row", "why"),
    [
        (None, "died"),
        ({"notice": "stage 1 is over: learned"}, "died"),
        ({"notice": "0 MiB are free: waiting", "waits": True}, ""),
        ({"hangs": "no return from step"}, "no return from step"),
    ],
)
def test_a_trial_that_starts_again_says_why_unless_it_said_that_it_waits(last_row, why):
    said = {}

    class Trial(SimpleNamespace):
        def __str__(self):
            return "sync-seed0"

    trial = Trial(last_result=last_row)
    TrialDisplay(SimpleNamespace(update=said.__setitem__)).on_trial_recover(1, [trial], trial)
    notice = said["sync-seed0"]["notice"]
    assert why in notice and ("died" in notice) == (why == "died")


def _holds(folder, has_begun, may_end):
    with lock_folder(folder, print):
        has_begun.set()
        may_end.wait(TIMEOUT_SECONDS)


@pytest.mark.processes
def test_one_process_writes_into_a_trials_folder_at_a_time(tmp_path):
    context = multiprocessing.get_context("fork")
    has_begun, may_end = context.Event(), context.Event()
    other = context.Process(target=_holds, args=(tmp_path, has_begun, may_end))
    other.start()
    assert has_begun.wait(TIMEOUT_SECONDS)
    said = []
    with pytest.raises(TimeoutError, match="another process"), lock_folder(tmp_path, said.append, 0.1):
        pass
    assert len(said) == 1
    other.kill()  # the system takes the lock back, however its owner ends
    other.join()
    with lock_folder(tmp_path, print, 5):
        pass
