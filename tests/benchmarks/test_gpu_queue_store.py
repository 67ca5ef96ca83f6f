"""Files of the GPU queue: what is packed, and that it goes on from them alone."""

import io
import shutil
import zipfile

import numpy as np
import pytest

from benchmarks.gpu_queue import store
from benchmarks.gpu_queue.store import MAX_FILES, open_store
from rl_models.training.checkpoint import (
    get_checkpoint_path,
    load_checkpoint,
    newest_complete_checkpoint,
    save_checkpoint,
)
from tests.benchmarks.queues import TRAINING, command
from tune_experiments.core.errors import EXIT_CODE


def packed(tmp_path, out="out", values=4_000, **state):
    """A store with a trial of two checkpoints, whose newest is whole and whose first travels as weights."""
    with open_store(tmp_path / out) as one:
        folder = one.folder("item") / "trials/a-seed0/checkpoints"
        numbers = np.random.default_rng(0).standard_normal(values).astype(np.float32)
        for step in (0, 1, 2):
            groups = {"weights": {"a": numbers + step}, "optimizer": {"a": numbers - step}}
            if not get_checkpoint_path(folder, step).exists():
                save_checkpoint(folder, step, groups, {"step": step, "choice": {"value": 0.5, "env_steps": 1}, **state})
        (folder.parent / "metrics.jsonl").write_text('{"env_steps": 2}\n')
        for name in ("events.out.tfevents.1", ".writer.lock"):
            (folder.parent / name).write_text("left out")
        one.pack()
    return tmp_path / out


def returned(out, folder):
    """A new folder that has only the files that come back."""
    shutil.copytree(out, folder)
    return folder


def test_a_store_goes_on_in_a_new_folder_with_the_files_that_came_back(tmp_path):
    before = packed(tmp_path).with_name("out.work")
    with open_store(returned(tmp_path / "out", tmp_path / "elsewhere")) as one:
        trial = one.folder("item") / "trials/a-seed0"
        assert {path.name for path in trial.iterdir()} == {"checkpoints", "metrics.jsonl"}
        old = before / "items/item/run/trials/a-seed0/checkpoints"
        assert {path.name for path in (trial / "checkpoints").iterdir()} == {"checkpoint_000001", "checkpoint_000002"}
        whole, weights = (load_checkpoint(trial / f"checkpoints/checkpoint_00000{step}") for step in (2, 1))
        assert whole.tensors.keys() == {"weights", "optimizer"}
        assert weights.tensors.keys() == {"weights"}
        for step, found in ((2, whole), (1, weights)):
            expected = load_checkpoint(old / f"checkpoint_00000{step}")
            assert found.state == expected.state
            for group, tensors in found.tensors.items():
                np.testing.assert_array_equal(tensors["a"], expected.tensors[group]["a"])


def test_in_a_curriculum_the_chosen_checkpoint_keeps_the_optimiser_for_the_next_stage(tmp_path):
    packed(tmp_path, curriculum={"ended": []})
    with open_store(returned(tmp_path / "out", tmp_path / "elsewhere")) as one:
        chosen = one.folder("item") / "trials/a-seed0/checkpoints/checkpoint_000001"
        assert load_checkpoint(chosen).tensors.keys() == {"weights", "optimizer"}


def test_after_a_supervised_stage_its_weights_travel_without_an_optimiser(tmp_path):
    with open_store(tmp_path / "out") as one:
        folder, weights = one.folder("item") / "trials/a-seed0/checkpoints", {"weights": {"a": np.zeros(2)}}
        end = {"name": "warm", "passed": None, "progress": {}, "env_steps": 1, "chosen": None}
        save_checkpoint(folder, 1, weights, {"curriculum": {"ended": []}})
        save_checkpoint(folder, 2, weights | {"optimizer": {"a": np.zeros(2)}}, {"curriculum": {"ended": [end]}})
        one.pack()
    with open_store(returned(tmp_path / "out", tmp_path / "elsewhere")) as one:
        first = one.folder("item") / "trials/a-seed0/checkpoints/checkpoint_000001"
        assert load_checkpoint(first).tensors.keys() == {"weights"}


def test_an_item_that_cannot_be_packed_keeps_what_was_packed_of_it_and_the_others_travel(tmp_path, call):
    out = packed(tmp_path)
    with open_store(out) as one:
        (one.folder("item") / "trials/a-seed0/checkpoints/checkpoint_000001/weights.safetensors").write_bytes(b"torn")
        (one.folder("game") / "newer").touch()
        (one.folder("item") / "newer").touch()
    code, _, error = call(TRAINING, "--minutes", "0")
    assert code == EXIT_CODE
    assert "item item" in error
    with open_store(returned(out, tmp_path / "elsewhere")) as one:
        assert (one.folder("game") / "newer").exists()
        assert not (one.folder("item") / "newer").exists()
        whole = one.folder("item") / "trials/a-seed0/checkpoints/checkpoint_000001"
        assert load_checkpoint(whole).tensors.keys() == {"weights"}


def test_what_is_packed_has_few_files_of_limited_size_and_replaces_what_was_before(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_PART_BYTES", 16_384)
    out = packed(tmp_path)
    first = {path.name for path in out.iterdir()}
    assert 1 < len(first) <= MAX_FILES
    assert max(path.stat().st_size for path in out.iterdir()) <= 16_384
    packed(tmp_path)
    assert not first & {path.name for path in out.iterdir()}
    with open_store(returned(out, tmp_path / "elsewhere")) as one:
        assert newest_complete_checkpoint(one.folder("item") / "trials/a-seed0/checkpoints").name == "checkpoint_000002"


def test_more_than_fits_is_refused_and_leaves_what_was_packed(tmp_path, monkeypatch):
    out = packed(tmp_path)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(store, "MAX_PART_BYTES", 2_048)
    with pytest.raises(store.UserError, match=str(out)):
        packed(tmp_path)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_kill_between_the_parts_of_two_archives_leaves_the_older_one(tmp_path):
    out = packed(tmp_path)
    (out / "queue_000009.part_1_of_2").write_bytes(b"half")
    (out / ".queue_000009.part_2_of_2.x").write_bytes(b"torn")
    with open_store(returned(out, tmp_path / "elsewhere")) as one:
        assert (one.folder("item") / "trials/a-seed0/metrics.jsonl").exists()
        one.pack()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["queue_000010.part_1_of_1"]


def archive_with(name):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr(name, b"")
    return buffer.getvalue()


EARLIER = archive_with("pieces/items/item/run/trials/a/checkpoint_000001/piece")


@pytest.mark.parametrize(
    ("name", "content"), [("part_1_of_2", None), ("part_1_of_1", b"torn"), ("part_1_of_1", EARLIER)]
)
def test_an_archive_that_is_not_whole_or_of_an_earlier_form_is_refused_with_the_folder(tmp_path, name, content):
    out = packed(tmp_path)
    (path,) = out.iterdir()
    path.rename(out / f"queue_000001.{name}")
    if content is not None:
        (out / f"queue_000001.{name}").write_bytes(content)
    with pytest.raises(store.UserError, match="part_2_of_2" if content is None else "elsewhere"):
        open_store(returned(out, tmp_path / "elsewhere")).__enter__()


def test_work_that_is_ahead_of_its_archive_is_kept_and_other_work_is_replaced(tmp_path):
    out = packed(tmp_path)
    with open_store(out) as one:
        (one.folder("item") / "ahead").touch()
    with open_store(out) as one:
        assert (one.folder("item") / "ahead").exists()
    other = packed(tmp_path, "other", values=5_000)
    shutil.rmtree(out)
    shutil.copytree(other, out)
    with open_store(out) as one:
        assert not (one.folder("item") / "ahead").exists()


def test_other_files_are_left_and_a_folder_without_room_is_refused_before_anything_runs(tmp_path, call):
    (tmp_path / "out").mkdir()
    for number in range(MAX_FILES):
        assert call(TRAINING, "--minutes", "0")[0] == 0
        (tmp_path / f"out/mine_{number}").touch()
    code, said, error = call(command("never", "print(1)"))
    assert (code, said) == (EXIT_CODE, [])
    assert "--out" in error
    assert len(list((tmp_path / "out").glob("mine_*"))) == MAX_FILES


def test_a_trial_that_has_ended_travels_as_weights_and_one_that_ends_meanwhile_as_one_that_goes_on(
    tmp_path, monkeypatch
):
    trial = packed(tmp_path).with_name("out.work") / "items/item/run/trials/a-seed0"
    results, check = trial / "test_results.json", store.check_complete

    def ending(*arguments):
        results.write_text('{"results": []}')
        return check(*arguments)

    monkeypatch.setattr(store, "check_complete", ending)
    for groups, is_there in (({"weights", "optimizer"}, False), ({"weights"}, True)):
        with open_store(tmp_path / "out") as one:
            one.pack()
        shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)
        with open_store(returned(tmp_path / "out", tmp_path / "elsewhere")) as one:
            there = one.folder("item") / "trials/a-seed0"
            assert load_checkpoint(there / "checkpoints/checkpoint_000002").tensors.keys() == groups
            assert (there / "test_results.json").exists() == is_there


def test_two_processes_and_a_foreign_work_folder_are_refused(tmp_path):
    with open_store(tmp_path / "out"), pytest.raises(store.UserError, match="out"):
        open_store(tmp_path / "out").__enter__()
    (tmp_path / "mine.work").mkdir()
    with pytest.raises(store.UserError, match="mine"):
        open_store(tmp_path / "mine").__enter__()
