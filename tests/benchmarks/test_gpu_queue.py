"""The GPU queue: what becomes of its items, and that a call goes on with what came back."""

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

from benchmarks.gpu_queue import running
from benchmarks.gpu_queue.items import ScriptItem, read_queue
from benchmarks.gpu_queue.store import MAX_FILES, open_store
from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint, save_checkpoint
from tests.benchmarks.queues import TRAINING, command
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.core.errors import EXIT_CODE
from tune_experiments.results.trial_log import CPU_SECONDS, SPEED, read_metrics

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "benchmarks/gpu_queue_small.toml"
OF_TIME = {"wall_time", CPU_SECONDS, SPEED}


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
def test_a_training_whose_process_dies_after_the_test_has_failed_and_ends_when_it_is_tried_again(call, monkeypatch):
    def dies_first(item, folder, seconds, device):
        code = (
            "import os, pathlib, sys; trial = pathlib.Path(sys.argv[1]) / 'trials/marginal-seed0'; "
            "trial.exists() and sys.exit(); trial.mkdir(parents=True); "
            "(trial / 'test_results.json').write_text('{\"results\": []}'); os.kill(os.getpid(), 9)"
        )
        return [sys.executable, "-c", code, str(folder)]

    monkeypatch.setattr(ScriptItem, "words", dies_first)
    assert call(TRAINING)[0] == EXIT_CODE
    assert call(TRAINING)[1][-1].startswith("game 0/2560, failed")
    assert call(TRAINING, "--retry")[0] == 0
    assert "game: a slice" not in " ".join(call(TRAINING)[1])  # it is done


def test_a_command_that_needs_a_gpu_is_left_where_there_is_none(call, tmp_path):
    text = command("rates", f"open('{tmp_path}/ran', 'w')") + "needs_gpu = true\n"
    for _ in range(2):
        code, said, _ = call(text)
        assert (code, said[-1]) == (0, "rates 0/1")
    assert not (tmp_path / "ran").exists()


@pytest.mark.processes
@pytest.mark.long
def test_a_command_sees_no_gpu_where_the_call_wants_the_cpu(call, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = "import os, sys; sys.exit(os.environ['CUDA_VISIBLE_DEVICES'] != '')"
    assert call(command("hidden", code))[1][-1] == "hidden 1/1"


@pytest.mark.processes
@pytest.mark.long
def test_a_command_that_a_whole_call_cannot_finish_fails(call):
    code, said, error = call(command("long", "import time; time.sleep(600)"), "--minutes", "0.02")
    assert code == EXIT_CODE
    assert "--minutes" in error
    assert said[-1].startswith("long 0/1, failed")


@pytest.mark.processes
@pytest.mark.long
def test_what_a_command_has_started_ends_with_it(call, tmp_path):
    child = f"import time, pathlib; time.sleep(3); pathlib.Path('{tmp_path}/late').touch()"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', \\\"{child}\\\"]); time.sleep(600)"
    assert call(command("parent", code), "--minutes", "0.02")[0] == EXIT_CODE
    time.sleep(3)
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_record_is_one_sentence_with_its_file(call, tmp_path, text):
    call(TRAINING, "--minutes", "0")
    (tmp_path / "out.work/items/game/record.json").write_text(text)
    code, _, error = call(TRAINING, "--minutes", "0")
    assert code == EXIT_CODE
    assert "record.json" in error


@pytest.mark.slow
def test_a_training_stops_at_its_gate_and_goes_on_elsewhere_with_another(call, tmp_path):
    gate = 'gate = {{ metric = "episode/outcome", at_least = {}, env_steps = 320 }}\n'
    code, said, _ = call(TRAINING + gate.format("1e9"))
    assert code == 0
    assert said[-1].startswith("game 2560/2560")
    assert "gate not passed: episode/outcome" in said[-1]
    assert call(TRAINING + gate.format("1e9"))[1][-1:] == said[-1:]  # nothing more is trained
    shutil.copytree(tmp_path / "out", tmp_path / "elsewhere")
    assert call(TRAINING + gate.format("1e9"), "--minutes", "0", out="elsewhere")[1][-1] == said[-1]
    assert read_metrics(tmp_path / "elsewhere.work/items/game/run/trials/marginal-seed0/metrics.jsonl")
    assert "gate passed: episode/outcome" in call(TRAINING + gate.format("-1e9"), out="elsewhere")[1][-1]


def test_what_a_running_trial_has_saved_is_packed_meanwhile(tmp_path, monkeypatch):
    """A stand-in for its process saves a checkpoint, and later looks into the folder of what travels."""
    (tmp_path / "queue.toml").write_text(TRAINING)
    (item,) = read_queue(tmp_path / "queue.toml")
    seen = []

    class Process:
        returncode, pid, moments = 0, None, itertools.count()

        def __init__(self, *_, **__):
            pass

        def wait(self):
            pass

        def poll(self):
            moment = next(self.moments)
            if moment == 1:
                save_checkpoint(task.trial / "checkpoints", 9, {"weights": {}}, {})
            seen.append([path.name for path in one.out.iterdir()])
            return None if moment < 2 else 0

    monkeypatch.setattr(running.subprocess, "Popen", Process)
    monkeypatch.setattr(running.os, "killpg", lambda *_: None)
    monkeypatch.setattr(running, "PACK_INTERVAL_SECONDS", 0.0)
    with open_store(tmp_path / "out") as one:
        task = running.Task(item, one.folder("game"))
        running.run_slice(task, one, 600.0, 600.0, "cpu")
        assert seen[:3] == [[], [], ["queue_000001.part_1_of_1"]]
        assert (task.status, task.checkpoint) == ("waiting", 9)


def work(out, *arguments, until=None):
    """A call of the command on the small queue; its last lines. With `until` it is killed when there is such a file."""
    words = [sys.executable, "-m", "benchmarks.gpu_queue", "--queue", SMALL, "--out", out, "--device", "cpu"]
    child = subprocess.Popen([*words, "--minutes", "60", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if until is not None:
        ends_at = time.monotonic() + TIMEOUT_SECONDS
        while not list(out.with_name(f"{out.name}.work").glob(until)):
            assert child.poll() is None
            assert time.monotonic() < ends_at
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
    said, _ = child.communicate(timeout=TIMEOUT_SECONDS)
    assert child.returncode == (0 if until is None else -signal.SIGKILL)
    return said.splitlines()[-2:]


def rows_in(work_folder, trial):
    rows = read_metrics(work_folder / f"items/{trial}/metrics.jsonl")
    return [{name: value for name, value in row.items() if name not in OF_TIME and "speed" not in name} for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_SECONDS)
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
    weights = [newest_complete_checkpoint(folder / f"items/{furnmove}/checkpoints") for folder in (one, other)]
    first, second = (load_checkpoint(path).tensors["weights"] for path in weights)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)
    verdicts = [[line.partition(", gate")[2] for line in lines] for lines in (expected, said)]
    assert verdicts[0] == verdicts[1]
    assert "not passed" in verdicts[0][1]
    assert rows_in(one, film)[:1] == rows_in(other, film)[:1]
