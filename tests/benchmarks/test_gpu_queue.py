"""The GPU queue: what a queue may hold, what becomes of its items, and that a call goes on with what came back."""

import itertools
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu_queue import __main__ as queue
from benchmarks.gpu_queue import running, store
from benchmarks.gpu_queue.items import Gate, check_item, gate_verdict, read_queue
from benchmarks.gpu_queue.store import MAX_FILES, Record, open_store
from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint, save_checkpoint
from tests.patience import PATIENCE_SECONDS
from tune_experiments.core.errors import EXIT_CODE
from tune_experiments.results.trial_log import CPU_SECONDS, SPEED, read_metrics

ROOT = Path(__file__).resolve().parents[2]
QUEUES = [ROOT / "benchmarks/gpu_queue.toml", ROOT / "benchmarks/gpu_queue_small.toml"]
SMALL = QUEUES[1]
TRAINING = """
[[items]]
name = "game"
script = "matrix_game"
preset = "smoke"
method = "marginal"
budget_env_steps = 2560
"""
OF_TIME = {"wall_time", CPU_SECONDS, SPEED}


@pytest.fixture
def call(tmp_path, capsys):
    """Runs the command on a queue; exit code, lines of stdout, and stderr."""

    def run(text, *arguments, out="out"):
        path = tmp_path / "queue.toml"
        path.write_text(text)
        code = queue.main(["--queue", str(path), "--out", str(tmp_path / out), "--device", "cpu", *arguments])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return run


def command(name, code):
    return f"[[items]]\nname = '{name}'\ncommand = '''python -c \"{code}\"'''\n"


# ------------------------------------------------------------------------------------------ queues


@pytest.mark.long
@pytest.mark.parametrize("path", QUEUES, ids=lambda path: path.stem)
def test_every_item_of_the_queues_is_one_that_its_script_takes(path):
    items = read_queue(path)
    for item in items:
        check_item(item)
    assert len({item.name for item in items}) == len(items) > 1


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('script = "matrix_game"', 'script = "matrix_gone"', "matrix_gone"),
        ('preset = "smoke"', 'preset = "smke"', "smke"),
        ('method = "marginal"', 'method = "margin"', "margin"),
        ('preset = "smoke"', 'presets = "smoke"', "presets"),
        ('preset = "smoke"', "", "preset"),
        ("budget_env_steps = 2560", "budget_env_steps = 0", "budget_env_steps"),
        ("budget_env_steps", "flags = '--gamez 3'\nbudget_env_steps", "--gamez"),
        ("budget_env_steps", "flags = '--budget-env-steps 9'\nbudget_env_steps", "2560"),
        ("budget_env_steps", "flags = '\"'\nbudget_env_steps", "flags"),
        ('name = "game"', 'name = "a game"', "name"),
        ("budget_env_steps", "gate = {metric = 'v', at_least = 1, env_steps = 9}\nbudget_env_steps", "'v'"),
        ("budget_env_steps", "gate = {metric = 'v/x'}\nbudget_env_steps", "gate.at_least"),
        ("[[items]]", "[[item]]", "item"),
        ("[[items]]", "[[items]", "TOML"),
        ("[[items]]", "[[items]]\ncommand = 'true'", "script"),
        (TRAINING, TRAINING + TRAINING, "game"),
        (TRAINING, "items = []", "items"),
        (TRAINING, "items = [3]", "item 1"),
    ],
)  # fmt: skip
def test_a_wrong_queue_is_one_sentence_that_names_what_is_wrong(call, old, new, named):
    code, said, error = call(TRAINING.replace(old, new))
    assert (code, said) == (EXIT_CODE, [])
    assert named in error
    assert len(error.splitlines()) == 1


def test_a_missing_queue_and_impossible_minutes_are_one_sentence(tmp_path, capsys, call):
    assert queue.main(["--queue", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out")]) == EXIT_CODE
    assert "none.toml" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert "--minutes" in call(TRAINING, "--minutes", "nan")[2]


@pytest.mark.parametrize(("value", "is_passed"), [(0.5, True), (0.42, True), (0.41, False)])
def test_a_gate_is_judged_by_the_first_row_at_its_env_steps_that_has_the_metric(value, is_passed):
    gate = Gate(metric="valid/win_rate", at_least=0.42, env_steps=100)
    rows = [{"env_steps": 90, "valid/win_rate": 0.9}, {"env_steps": 100}, {"env_steps": 110, "valid/win_rate": value}]
    found = gate_verdict(gate, rows)
    assert found[:2] == (is_passed, 110)
    assert str(value) in found[2]
    assert gate_verdict(gate, rows[:2]) is None
    assert gate_verdict(None, rows) is None


# ------------------------------------------------------------------------------------------ what is packed


def packed(tmp_path, out="out", checkpoints=2, values=4_000):
    """A store with a trial of some checkpoints, whose newest is whole and whose first travels as weights."""
    with open_store(tmp_path / out) as one:
        folder = one.folder("item") / "trials/a-seed0/checkpoints"
        numbers = np.random.default_rng(0).standard_normal(values).astype(np.float32)
        for step in range(1, checkpoints + 1):
            groups = {"weights": {"a": numbers + step}, "optimizer": {"a": numbers - step}}
            save_checkpoint(folder, step, groups, {"step": step})
        (folder.parent / "metrics.jsonl").write_text('{"env_steps": 2}\n')
        for name in ("events.out.tfevents.1", ".writer.lock"):
            (folder.parent / name).write_text("left out")
        one.records["item"] = Record({"name": "item"}, env_steps=2)
        one.keep("item", [(path, path.name.endswith("2")) for path in sorted(folder.glob("checkpoint_*"))])
        one.save_records()
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
        assert one.records == {"item": Record({"name": "item"}, env_steps=2)}
        assert {path.name for path in trial.iterdir()} == {"checkpoints", "metrics.jsonl"}
        old = before / "items/item/run/trials/a-seed0/checkpoints"
        whole, weights = (load_checkpoint(trial / f"checkpoints/checkpoint_00000{step}") for step in (2, 1))
        assert whole.tensors.keys() == {"weights", "optimizer"}
        assert weights.tensors.keys() == {"weights"}
        for step, found in ((2, whole), (1, weights)):
            expected = load_checkpoint(old / f"checkpoint_00000{step}")
            assert found.state == expected.state
            for group, tensors in found.tensors.items():
                np.testing.assert_array_equal(tensors["a"], expected.tensors[group]["a"])


def test_what_is_packed_has_few_files_of_limited_size_and_replaces_what_was_before(tmp_path, monkeypatch):
    monkeypatch.setattr(store.checkpoint_pieces, "MAX_PIECE_BYTES", 16_384)
    out = packed(tmp_path)
    first = {path.name for path in out.iterdir()}
    assert 1 < len(first) <= MAX_FILES
    assert max(path.stat().st_size for path in out.iterdir()) <= 16_384
    packed(tmp_path)
    assert not first & {path.name for path in out.iterdir()}
    with open_store(returned(out, tmp_path / "elsewhere")) as one:
        assert newest_whole_checkpoint(one.folder("item") / "trials/a-seed0/checkpoints").name == "checkpoint_000002"


def test_more_than_fits_is_refused_and_leaves_what_was_packed(tmp_path, monkeypatch):
    out = packed(tmp_path)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(store.checkpoint_pieces, "MAX_PIECE_BYTES", 2_048)
    with pytest.raises(store.UserError, match=str(out)):
        packed(tmp_path)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_kill_between_the_parts_of_two_archives_leaves_the_older_one(tmp_path):
    out = packed(tmp_path)
    (out / "queue_000009.part_1_of_2").write_bytes(b"half")
    (out / ".queue_000009.part_2_of_2.x").write_bytes(b"torn")
    with open_store(returned(out, tmp_path / "elsewhere")) as one:
        assert one.records["item"].env_steps == 2
        one.pack()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["queue_000010.part_1_of_1"]


@pytest.mark.parametrize(("name", "content"), [("part_1_of_2", None), ("part_1_of_1", b"torn")])
def test_an_archive_that_is_not_whole_is_refused_with_the_folder(tmp_path, name, content):
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


def test_two_processes_and_a_foreign_work_folder_are_refused(tmp_path):
    with open_store(tmp_path / "out"), pytest.raises(store.UserError, match="out"):
        open_store(tmp_path / "out").__enter__()
    (tmp_path / "mine.work").mkdir()
    with pytest.raises(store.UserError, match="mine"):
        open_store(tmp_path / "mine").__enter__()


# ------------------------------------------------------------------------------------------ what becomes of items


@pytest.mark.processes
@pytest.mark.long
def test_an_item_that_fails_is_marked_and_the_next_one_runs(call):
    broken, fine = command("broken", "print(1); 1/0"), command("fine", "open('{folder}/made', 'w')")
    code, said, error = call(broken + fine)
    assert code == EXIT_CODE
    assert "broken" in error
    assert "ZeroDivisionError" in error
    assert [line.split(",")[0] for line in said[-2:]] == ["broken 0/1", "fine 1/1"]
    assert "ZeroDivisionError" in said[-2]
    code, again, error = call(broken + fine)
    assert (code, error) == (0, "")
    assert again[-2:] == said[-2:]
    assert len(again) < len(said)  # neither ran again
    code, said, _ = call(command("broken", "print(1)") + fine)  # mended
    assert code == 0
    assert said[-2:] == ["broken 1/1", "fine 1/1"]
    assert call(command("broken", "print(2)") + fine)[0] == EXIT_CODE  # what is done cannot become another


@pytest.mark.processes
@pytest.mark.long
def test_a_failed_item_is_tried_again_if_that_is_asked(call, tmp_path):
    text = command("fails_once", f"import pathlib; pathlib.Path('{tmp_path}/mended').read_text()")
    assert call(text)[0] == EXIT_CODE
    (tmp_path / "mended").touch()
    assert call(text)[1][-1].startswith("fails_once 0/1")
    assert call(text, "--retry")[1][-1] == "fails_once 1/1"


@pytest.mark.processes
@pytest.mark.long
def test_a_command_that_a_whole_call_cannot_finish_fails(call):
    code, said, error = call(command("long", "import time; time.sleep(600)"), "--minutes", "0.02")
    assert code == EXIT_CODE
    assert "--minutes" in error
    assert said[-1].startswith("long 0/1, failed")


@pytest.mark.processes
@pytest.mark.long
def test_a_training_stops_at_its_gate_and_goes_on_elsewhere_with_another(call, tmp_path):
    gate = 'gate = {{ metric = "episode/outcome", at_least = {}, env_steps = 320 }}\n'
    code, said, _ = call(TRAINING + gate.format("1e9"))
    assert code == 0
    assert said[-1].startswith("game 2560/2560")
    assert "gate not passed: episode/outcome" in said[-1]
    assert call(TRAINING + gate.format("1e9"))[1][-1:] == said[-1:]  # nothing more is trained
    returned(tmp_path / "out", tmp_path / "elsewhere")
    assert call(TRAINING + gate.format("1e9"), "--minutes", "0", out="elsewhere")[1][-1] == said[-1]
    assert read_metrics(tmp_path / "elsewhere.work/items/game/run/trials/marginal-seed0/metrics.jsonl")
    assert "gate passed: episode/outcome" in call(TRAINING + gate.format("-1e9"), out="elsewhere")[1][-1]


def test_what_a_running_trial_has_saved_is_packed_meanwhile(tmp_path, monkeypatch):
    """A stand-in for its process saves a checkpoint, and later looks into the folder of what travels."""
    (tmp_path / "queue.toml").write_text(TRAINING)
    (item,) = read_queue(tmp_path / "queue.toml")
    seen = []

    class Process:
        returncode, moments = 0, itertools.count()

        def __init__(self, *_, **__):
            pass

        def kill(self):
            pass

        wait = kill

        def poll(self):
            moment = next(self.moments)
            if moment == 1:
                save_checkpoint(one.folder("game") / "trials/marginal-seed0/checkpoints", 9, {"weights": {}}, {})
            seen.append([path.name for path in one.out.iterdir()])
            return None if moment < 2 else 0

    monkeypatch.setattr(running.subprocess, "Popen", Process)
    monkeypatch.setattr(running, "PACKS_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(running, "checkpoints_of", lambda _, folder, **__: [(*folder.glob("**/checkpoint_*"), True)])
    with open_store(tmp_path / "out") as one:
        one.records["game"] = Record({})
        running.run_slice(item, one, 600.0, 600.0, "cpu")
        assert seen[:3] == [[], [], ["queue_000001.part_1_of_1"]]
        assert (one.records["game"].status, one.records["game"].env_steps) == ("waiting", 9)


# ------------------------------------------------------------------------------------------ the small queue


def work(out, *arguments, until=None):
    """A call of the command on the small queue; its last lines. With `until` it is killed when there is such a file."""
    words = [sys.executable, "-m", "benchmarks.gpu_queue", "--queue", SMALL, "--out", out, "--device", "cpu"]
    child = subprocess.Popen([*words, "--minutes", "60", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if until is not None:
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while not list(out.with_name(f"{out.name}.work").glob(until)):
            assert child.poll() is None
            assert time.monotonic() < ends_at
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
    said, _ = child.communicate(timeout=PATIENCE_SECONDS)
    assert child.returncode == (0 if until is None else -signal.SIGKILL)
    return said.splitlines()[-2:]


def rows_in(work_folder, trial):
    rows = read_metrics(work_folder / f"items/{trial}/metrics.jsonl")
    return [{name: value for name, value in row.items() if name not in OF_TIME and "speed" not in name} for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(PATIENCE_SECONDS)
def test_a_queue_that_is_cut_killed_and_moved_comes_to_what_an_uncut_one_comes_to(tmp_path):
    expected = work(tmp_path / "whole")
    checkpoints = "items/furnmove_sync/run/trials/*/checkpoints"
    for here, env_steps, there in (("first", 2, "second"), ("second", 5, "third")):
        work(tmp_path / here, until=f"{checkpoints}/checkpoint_00{env_steps}*")
        work(tmp_path / here, "--minutes", "0")
        files = list((tmp_path / here).iterdir())
        assert len(files) <= MAX_FILES
        assert max(path.stat().st_size for path in files) <= 16 * 2**20
        shutil.copytree(tmp_path / here, tmp_path / there)
    said = work(tmp_path / "third")
    furnmove, film = "furnmove_sync/run/trials/sync_13_cordial-seed0", "film/run/trials/film-seed0"
    one, other = tmp_path / "whole.work", tmp_path / "third.work"
    assert rows_in(one, furnmove) == rows_in(other, furnmove)
    results = [json.loads((folder / f"items/{furnmove}/test_results.json").read_text()) for folder in (one, other)]
    for result in results:
        for row in result["results"]:
            row.pop("cpu_seconds", None)
    assert results[0] == results[1]
    weights = [newest_whole_checkpoint(folder / f"items/{furnmove}/checkpoints") for folder in (one, other)]
    first, second = (load_checkpoint(path).tensors["weights"] for path in weights)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)
    verdicts = [[line.partition(", gate")[2] for line in lines] for lines in (expected, said)]
    assert verdicts[0] == verdicts[1]
    assert "not passed" in verdicts[0][1]
    assert rows_in(one, film)[:1] == rows_in(other, film)[:1]
