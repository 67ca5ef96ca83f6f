"""Rules of a trial's log: no point doubled, missing or from a lost future, in metrics.jsonl and in TensorBoard."""

import json
import math
import os

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tune_experiments.results.trial_log import TrialLog, read_metrics


def row(env_steps: int) -> dict:
    return {"env_steps": env_steps, "episode/success": env_steps / 100, "loss/policy": -1.0}


def curves(folder) -> dict:
    """What TensorBoard itself reads: tag -> [(env steps, value)]."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    return {
        tag: [(event.step, round(event.value, 5)) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def test_rewind_cuts_the_future_and_nothing_else(tmp_path):
    log = TrialLog(tmp_path)
    for step in (10, 20, 30):
        log.append(row(step))
    log.add_text("config", "| a | b |")
    before = (tmp_path / "metrics.jsonl").read_bytes()
    log.rewind(20)
    assert before.startswith((tmp_path / "metrics.jsonl").read_bytes())
    assert curves(tmp_path)["episode/success"] == [(10, 0.1), (20, 0.2)]
    events = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0}).Reload()
    assert events.Tensors("config")[0].tensor_proto.string_val == [b"| a | b |"]
    log.append({**row(30), "episode/success": 0.9})
    assert curves(tmp_path)["episode/success"] == [(10, 0.1), (20, 0.2), (30, 0.9)]


def test_rewind_leaves_events_and_files_of_others_alone(tmp_path):
    log = TrialLog(tmp_path)
    log.append(row(10))
    others = [tmp_path / "events.out.tfevents.1700000000.host.7.0", tmp_path / "notes.txt"]
    for path in others:
        path.write_bytes(b"mine")
    log.rewind(0)
    assert [path.read_bytes() for path in others] == [b"mine", b"mine"]
    assert read_metrics(tmp_path / "metrics.jsonl") == []
    others[0].unlink()
    assert curves(tmp_path) == {}
    log.append(row(10))


@pytest.mark.processes
def test_a_killed_and_continued_log_equals_an_unbroken_one(tmp_path):
    with TrialLog(tmp_path / "unbroken") as unbroken:
        for step in range(10, 60, 10):
            unbroken.append({**row(step), "wall_time": 0.0})
    child = os.fork()
    if child == 0:
        log = TrialLog(tmp_path / "broken")
        for step in range(10, 50, 10):
            log.append({**row(step), "wall_time": 0.0})
        with (tmp_path / "broken" / "metrics.jsonl").open("ab") as file:
            file.write(b'{"env_steps": 50, "episode/su')
        os._exit(9)
    os.waitpid(child, 0)
    with TrialLog(tmp_path / "broken") as log:
        log.rewind(20)
        for step in range(30, 60, 10):
            log.append({**row(step), "wall_time": 0.0})
    files = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("unbroken", "broken")]
    assert files[0] == files[1]
    assert curves(tmp_path / "unbroken") == curves(tmp_path / "broken")


def test_what_a_crash_half_wrote_is_dropped_from_the_log_and_derived_again_as_events(tmp_path):
    with TrialLog(tmp_path) as log:
        log.append(row(10))
        log.append(row(20))
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"env_steps": 2')
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 2
    for path in tmp_path.glob("events*"):
        path.write_bytes(path.read_bytes()[:-20])
    (tmp_path / ".unfinished_events_1").write_bytes(b"torn")
    with TrialLog(tmp_path) as log:
        log.append(row(30))
    steps = [line["env_steps"] for line in read_metrics(tmp_path / "metrics.jsonl")]
    assert steps == [step for step, _ in curves(tmp_path)["loss/policy"]] == [10, 20, 30]
    assert len(list(tmp_path.iterdir())) == 3, "metrics, events, and the emptied events"


def test_a_watching_tensorboard_forgets_the_lost_future(tmp_path):
    log = TrialLog(tmp_path)
    for step in (10, 20, 30):
        log.append(row(step))
    watching = EventAccumulator(str(tmp_path)).Reload()
    log.rewind(10)
    log.append({**row(20), "episode/success": 0.5})
    watching.Reload()
    assert [(event.step, round(event.value, 5)) for event in watching.Scalars("episode/success")] == [
        (10, 0.1),
        (20, 0.5),
    ]


def test_env_steps_must_rise_and_values_be_numbers(tmp_path):
    log = TrialLog(tmp_path)
    log.append(row(10))
    with pytest.raises(ValueError, match="rewind first"):
        log.append(row(10))
    with pytest.raises(ValueError, match="'name'"):
        log.append({"env_steps": 20, "name": "sync"})


def test_numbers_of_every_kind_survive_and_the_file_stays_json(tmp_path):
    log = TrialLog(tmp_path)
    log.append({"env_steps": np.int64(10), "a": np.float32(0.5), "b": math.nan, "c": None, "d": True, "e": -math.inf})
    line = (tmp_path / "metrics.jsonl").read_text()
    json.loads(line, parse_constant=pytest.fail)
    (back,) = read_metrics(tmp_path / "metrics.jsonl")
    assert (back["env_steps"], back["a"], back["d"], back["e"]) == (10, 0.5, 1, -math.inf)
    assert math.isnan(back["b"])
    assert "c" not in back
