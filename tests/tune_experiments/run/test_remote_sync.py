"""A run in a store: the copy is whole, continues anywhere, loses what the folder loses, and outlives an outage."""

import copy
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint, prune, save_checkpoint
from tune_experiments.__main__ import main
from tune_experiments.experiment.errors import UserError
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.results.rows import Result, replace_rows
from tune_experiments.run import remote_sync as mirror
from tune_experiments.run.launch import show_results
from tune_experiments.run.remote_sync import Mirror, mirrored_folder, open_run, uri_of


def copy_at(store):
    return f"file://{store}"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("out", "uri"),
    [
        (Path("s3://bucket/runs/a"), "s3://bucket/runs/a"),
        (Path("gs://bucket/a"), "gs://bucket/a"),
        (Path("file:///mnt/a"), "file:///mnt/a"),
        (Path("/mnt/a"), None),
        (Path("runs/a"), None),
        (Path("C:/runs"), None),
    ],
)
def test_a_uri_is_told_from_a_path(out, uri):
    assert uri_of(out) == uri


def test_what_is_in_the_folder_is_in_the_copy_and_comes_back_elsewhere(tmp_path):
    store = tmp_path / "store"
    with mirrored_folder(copy_at(store)) as (folder, _):
        save_checkpoint(folder / "checkpoints", 5, {"weights": {"a": np.arange(3)}}, {"x": 1})
        (folder / "metrics.jsonl").write_text('{"env_steps": 5}\n')
        (folder / ".writer.lock").touch()
    assert not folder.exists()
    with mirrored_folder(copy_at(store)) as (again, _):
        assert set(contents(again)) == {
            "metrics.jsonl",
            "checkpoints/checkpoint_000005/state.json",
            "checkpoints/checkpoint_000005/weights.safetensors",
        }
        found = load_checkpoint(newest_whole_checkpoint(again / "checkpoints"))
        np.testing.assert_array_equal(found.tensors["weights"]["a"], np.arange(3))


def test_the_copy_forgets_what_the_folder_has_deleted(tmp_path):
    store = tmp_path / "store"
    with mirrored_folder(copy_at(store)) as (folder, copy):
        for step in range(4):
            save_checkpoint(folder / "checkpoints", step, {"w": {"a": np.zeros(2)}}, {})
        assert copy.push()
        prune(folder / "checkpoints", keep=1)
    assert {name.split("/")[1] for name in contents(store)} == {"checkpoint_000003"}


def test_a_file_of_another_content_but_the_same_size_is_sent_and_fetched(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    here.mkdir(), there.mkdir()
    sender, receiver = Mirror(here, copy_at(tmp_path / "store")), Mirror(there, copy_at(tmp_path / "store"))
    for text in ("one", "two"):
        (here / "table.md").write_text(text)
        assert sender.push()
        receiver.pull()
        assert (there / "table.md").read_text() == text


def test_a_copy_that_was_cut_off_holds_no_checkpoint_that_looks_whole(tmp_path, monkeypatch):
    folder, store = tmp_path / "a", tmp_path / "store"
    save_checkpoint(folder / "checkpoints", 1, {"actor": {"a": np.zeros(2)}, "weights": {"a": np.zeros(2)}}, {})
    copy = Mirror(folder, copy_at(store))
    send, sent = copy._send, []

    def breaks(name):
        if len(sent) == 2:
            raise OSError("connection lost")
        sent.append(name)
        send(name)

    monkeypatch.setattr(copy, "_send", breaks)
    assert not copy.push()
    assert len(sent) == 2
    assert newest_whole_checkpoint(store / "checkpoints") is None
    monkeypatch.setattr(copy, "_send", send)
    assert copy.push(), "the next call sends the rest"
    assert newest_whole_checkpoint(store / "checkpoints") is not None


def test_what_was_done_is_kept_when_the_work_fails_and_waits_for_the_store_when_it_succeeds(tmp_path, monkeypatch):
    store = tmp_path / "store"
    with pytest.raises(ZeroDivisionError), mirrored_folder(copy_at(store)) as (folder, _):
        (folder / "metrics.jsonl").write_text("row\n")
        raise ZeroDivisionError
    assert contents(store) == {"metrics.jsonl": b"row\n"}
    monkeypatch.setattr(mirror, "_RETRIES_AFTER_SECONDS", 0.01)
    send, calls = Mirror._send, []

    def away_at_first(self, name):
        calls.append(name)
        if len(calls) < 3:
            raise OSError("away")
        send(self, name)

    monkeypatch.setattr(Mirror, "_send", away_at_first)
    with mirrored_folder(copy_at(store)) as (folder, _):
        (folder / "table.md").write_text("done")
    assert contents(store)["table.md"] == b"done"


def test_a_run_sends_its_own_files_and_leaves_those_of_its_trials_alone(tmp_path):
    store = tmp_path / "store"
    with open_run(Path(copy_at(store)), {"a": 1}, "matrix_game", (0,)) as (run, copy):
        assert "config.json" in contents(store), "a run that is killed now can be continued"
        with mirrored_folder(f"{copy_at(store)}/trials/sync-seed0") as (folder, _):
            (folder / "outcome.json").write_text("{}")
        copy.pull()
        assert (run.trial("sync-seed0") / "outcome.json").exists()
        (run.path / "tune").mkdir()
        (run.path / "tune" / "tuner.pkl").write_bytes(b"pickled")
        assert copy.uri == copy_at(store)
    assert set(contents(store)) == {"config.json", "manifest.json", "trials/sync-seed0/outcome.json"}
    with (
        pytest.raises(UserError, match="another configuration"),
        open_run(Path(copy_at(store)), {"a": 2}, "matrix_game", (0,)),
    ):
        pass


def test_an_unknown_store_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        Mirror(tmp_path, "abfs://nothing")


@pytest.mark.parametrize("words", [["table", "s3://bucket/a"], ["compare", "runs/a", "s3://bucket/a"]])
def test_commands_on_what_was_trained_ask_for_a_folder(words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("error: s3://bucket/a lies in an object store: fetch it")


def test_what_a_run_in_a_store_has_written_is_told_by_the_stores_name(tmp_path):
    replace_rows(tmp_path / "results.jsonl", [Result("x", "A", "sync", "w", "test", 0, "return", 1.0)])
    drawn = tmp_path / "plots" / "a.png"
    drawing = copy.copy(EXPERIMENT)
    drawing.tables, drawing.figures = lambda results: [], lambda out, trials: [drawn]
    console = Console(record=True, file=io.StringIO(), soft_wrap=True)
    show_results(drawing, SMOKE, tmp_path, console, "s3://bucket/a")
    said = console.export_text()
    assert "wrote s3://bucket/a/plots/a.png" in said
    assert str(tmp_path) not in said
