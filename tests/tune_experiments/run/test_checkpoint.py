"""Rules of checkpoints: exact, whole or absent, and never able to run code."""

import errno
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rl_models.training import checkpoint_files
from rl_models.training.checkpoint import (
    CheckpointError,
    load_checkpoint,
    newest_complete_checkpoint,
    prune,
    save_checkpoint,
)
from tests.tune_experiments.run.bomb import Bomb

ARRAYS = {
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(2.5),
    "mask": np.array([True, False]),
    "key": np.array([2**64 - 1], np.uint64),
    "transposed": np.arange(6, dtype=np.int32).reshape(2, 3).T,
    "small": np.array([[7]], np.uint8),
}


def save(folder: Path, step: int) -> Path:
    weights = {"w": torch.full((4,), float(step))}
    return save_checkpoint(folder, step, {"weights": weights, "runner_0": ARRAYS}, {"env_steps": step, "huge": 2**70})


def test_everything_comes_back_as_it_was_saved(tmp_path):
    tied, turned = torch.zeros(2, 2, dtype=torch.bfloat16), torch.arange(6.0).reshape(2, 3).T
    weights = {"a": tied, "b": tied, "turned": turned}
    path = save_checkpoint(tmp_path, 123, {"weights": weights, "runner_0": ARRAYS}, {"nan": [float("inf")]})
    assert path == tmp_path / "checkpoint_000123"
    loaded = load_checkpoint(path)
    assert loaded.step == 123
    assert loaded.state == {"nan": [float("inf")]}
    assert loaded.tensors["weights"]["b"].dtype == torch.bfloat16
    assert torch.equal(loaded.tensors["weights"]["turned"], turned)
    for name, array in ARRAYS.items():
        back = loaded.tensors["runner_0"][name]
        assert isinstance(back, np.ndarray)
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("name", ["weights.safetensors", "runner_0.safetensors", "state.json"])
def test_a_truncated_file_is_refused_and_skipped(tmp_path, name, caplog):
    old, new = save(tmp_path, 1), save(tmp_path, 2)
    (new / name).write_bytes((new / name).read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(new)
    assert newest_complete_checkpoint(tmp_path) == newest_complete_checkpoint(tmp_path) == old
    (warning,) = caplog.messages
    assert str(old) in warning and str(new) in warning


def change_byte(path):
    content = bytearray((path / "weights.safetensors").read_bytes())
    content[-1] ^= 1
    (path / "weights.safetensors").write_bytes(content)


def change_state(**changes):
    def change(path):
        document = json.loads((path / "state.json").read_text())
        (path / "state.json").write_text(json.dumps(document | changes))

    return change


def name_another_file(path):
    entry = {"sha256": "", "bytes": 0, "numpy": []}
    checkpoint_files.write_state(path, 1, {}, {"../secret.safetensors": entry})


def replace_by_a_pipe(path):
    (path / "state.json").unlink()
    os.mkfifo(path / "state.json")


@pytest.mark.parametrize(
    "damage",
    [
        change_byte,
        change_state(state={"env_steps": 5}),
        lambda path: (path / "weights.safetensors").unlink(),
        shutil.rmtree,
        name_another_file,
        replace_by_a_pipe,
        change_state(format="other"),
        change_state(schema_version=9),
    ],
)
def test_what_was_changed_or_is_missing_is_refused(tmp_path, damage):
    path = save(tmp_path, 1)
    damage(path)
    with pytest.raises(CheckpointError, match="checkpoint_000001"):
        load_checkpoint(path)


def test_a_pickle_in_a_checkpoint_is_refused_and_never_opened(tmp_path):
    path = save(tmp_path, 1)
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    (path / "state.json").write_bytes(bomb)
    with pytest.raises(CheckpointError, match="JSON"):
        load_checkpoint(path)
    # An attacker can make every digest right: the parser itself must refuse.
    path = save(tmp_path, 2)
    entry = {"sha256": checkpoint_files.hashlib.sha256(bomb).hexdigest(), "bytes": len(bomb), "numpy": []}
    (path / "weights.safetensors").write_bytes(bomb)
    checkpoint_files.write_state(path, 2, {}, {"weights.safetensors": entry})
    with pytest.raises(CheckpointError, match=r"weights.safetensors"):
        load_checkpoint(path)
    assert not (tmp_path / "exploded").exists()


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = save(tmp_path, 1)
    monkeypatch.setattr(checkpoint_files, "MAX_GROUP_BYTES", 10)
    with pytest.raises(CheckpointError, match="10"):
        load_checkpoint(path)


@pytest.mark.parametrize("call", ["write_group", "write_state", "sync_directory"])
def test_a_full_disk_at_any_point_leaves_the_previous_checkpoint_newest(tmp_path, monkeypatch, call):
    old = save(tmp_path, 1)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint_files, call, full)
    with pytest.raises(CheckpointError, match="No space left"):
        save(tmp_path, 2)
    assert newest_complete_checkpoint(tmp_path) == old
    assert [path.name for path in tmp_path.iterdir()] == [old.name]


@pytest.mark.processes
def test_a_process_killed_in_the_middle_of_a_save_leaves_the_previous_checkpoint_newest(tmp_path):
    old = save(tmp_path, 1)
    child = os.fork()
    if child == 0:  # dies as by kill -9, after the tensors and before the state
        checkpoint_files.write_state = lambda *_: os._exit(9)
        save(tmp_path, 2)
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2, "the torn directory is there"
    assert newest_complete_checkpoint(tmp_path) == old
    newer = save(tmp_path, 3)
    prune(tmp_path, keep=5)
    assert sorted(tmp_path.iterdir()) == [old, newer]


def test_a_whole_checkpoint_is_never_overwritten(tmp_path):
    old = save(tmp_path, 1)
    with pytest.raises(CheckpointError, match=f"{old}"):
        save_checkpoint(tmp_path, 1, {}, {"second": True})
    assert list(tmp_path.iterdir()) == [old]
    assert load_checkpoint(old).state["env_steps"] == 1


def test_a_damaged_checkpoint_makes_room_and_is_not_lost(tmp_path):
    damaged = save(tmp_path, 1)
    (damaged / "state.json").unlink()
    (damaged / "notes.txt").write_text("mine")
    new = save(tmp_path, 1)
    prune(tmp_path, keep=1)
    assert newest_complete_checkpoint(tmp_path) == new
    (aside,) = set(tmp_path.iterdir()) - {new}
    assert aside.name.startswith(".")
    assert {path.name for path in aside.iterdir()} == {"notes.txt", "runner_0.safetensors", "weights.safetensors"}


def test_steps_are_ordered_as_numbers_and_foreign_names_ignored(tmp_path):
    save(tmp_path, 999_999)
    newest = save(tmp_path, 1_000_000)
    (tmp_path / "checkpoint_best").mkdir()
    assert newest_complete_checkpoint(tmp_path) == newest
    assert newest_complete_checkpoint(tmp_path / "nowhere") is None


def test_prune_never_deletes_the_newest_whole_one(tmp_path):
    paths = [save(tmp_path, step) for step in range(4)]
    for path in paths[2:]:
        (path / "state.json").unlink()
    prune(tmp_path, keep=1)
    assert newest_complete_checkpoint(tmp_path) == paths[1]
    assert not paths[0].exists()


def test_what_others_keep_among_checkpoints_outlives_them(tmp_path):
    paths = [save(tmp_path, step) for step in range(3)]
    (paths[0] / "notes.txt").write_text("mine")
    (paths[2] / "notes.txt").write_text("mine, too")
    (tmp_path / "checkpoint_best").mkdir()
    (tmp_path / "checkpoint_best" / "weights.safetensors").write_bytes(b"mine")
    whole = save(tmp_path / "elsewhere", 1)
    (tmp_path / "checkpoint_000000001").symlink_to(whole)
    prune(tmp_path, keep=1)
    assert [path.name for path in paths[0].iterdir()] == ["notes.txt"]
    assert not paths[1].exists()
    assert load_checkpoint(whole).step == 1, "reached by a link alone"
    assert (tmp_path / "checkpoint_best" / "weights.safetensors").exists()


@pytest.mark.parametrize(
    ("tensors", "state"),
    [({"../w": {}}, {}), ({"w": {"text": np.array(["a"])}}, {}), ({}, {"a": {1: 2}}), ({}, {"a": object()})],
)
def test_what_cannot_come_back_is_not_saved(tmp_path, tensors, state):
    with pytest.raises(CheckpointError):
        save_checkpoint(tmp_path, 1, tensors, state)
    assert not list(tmp_path.iterdir())
