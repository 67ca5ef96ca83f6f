"""`EXPERIMENT.run(...)`: what the script does, from Python, with callbacks that stay in this process."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from tests.tune_experiments.run.in_process import no_pictures
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.launch import launch as launching
from tune_experiments.launch.finished_run import Callback
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.results.rows import Result, read
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.progress import Progress
from tune_experiments.run.reports import TrialWatch
from tune_experiments.run.trial import Trial
from tune_experiments.run.tune_display import TrialDisplay

SMALL = {"games": 32, "updates_per_row": 5, "budget_env_steps": 1_600, "checkpoint_every_env_steps": 320}


class Diary(Callback):
    """Writes down what it is told and where; nobody may pickle it."""

    def __init__(self):
        self.events, self.processes = [], set()

    def on_validation(self, trial, row):
        self.events.append(("validation", trial, row["env_steps"]))
        self.processes.add(os.getpid())

    def on_checkpoint(self, trial, checkpoint):
        self.events.append(("checkpoint", trial, checkpoint))
        self.processes.add(os.getpid())

    def on_end(self, run):
        self.events.append(("end", run))

    def __reduce__(self):
        raise AssertionError("a callback was pickled")


def test_a_run_from_python_leaves_and_returns_what_the_script_leaves(ray_session, tmp_path):
    notes = Diary()
    run = EXPERIMENT.run("smoke", out=tmp_path / "run", seeds=[3], methods=["sync"], callbacks=[notes], **SMALL)
    assert run.folder == tmp_path / "run"
    assert run.results == read(run.folder / "results.jsonl")
    assert all(isinstance(row, Result) for row in run.results)
    assert (run.folder / "table.md").read_text() == "\n".join(table.markdown() for table in run.tables)
    assert {method: list(seeds) for method, seeds in run.trials.items()} == {"sync": [3]}
    assert [path.name for path in run.figures] == ["curves.png", "joint_policy.png"]
    assert run.videos == []
    assert run.config == dataclasses.replace(SMOKE, methods=("sync",), **SMALL)
    words = ["--config", str(run.folder / "config.yaml")]
    again, options = parse(EXPERIMENT.presets, words, "", experiment="matrix_game")
    assert (again, options.preset, options.seeds) == (run.config, "smoke", (3,))
    team = run.load_policy()
    assert (team.method, team.seed) == ("sync", 3)
    obs = team.make_world(5).reset(0)
    assert np.asarray(team.act(obs)).shape == (5, 2)
    with pytest.raises(UserError, match="sync-seed3"):
        run.load_policy("sync", 0)

    # Each validation once, in order, in this process; the last word is that of the end.
    rows = [row["env_steps"] for row in read_metrics(run.trials["sync"][3] / "metrics.jsonl")]
    assert [step for what, *_, step in notes.events[:-1] if what == "validation"] == rows
    assert ("checkpoint", "sync-seed3") in {(what, name) for what, name, _ in notes.events[:-1]}
    assert notes.processes == {os.getpid()}
    assert notes.events[-1] == ("end", run)


class Fails(Callback):
    def on_checkpoint(self, trial, checkpoint):
        raise ZeroDivisionError("mine")


def test_a_callback_that_fails_ends_the_run_with_its_own_error_and_the_next_call_continues(tmp_path):
    arguments = {"preset": "smoke", "out": tmp_path / "run", "seeds": [0], "methods": ["sync"], "local": True, **SMALL}
    with pytest.raises(ZeroDivisionError, match="mine"):
        EXPERIMENT.run(callbacks=[Fails()], **arguments)
    with no_pictures():
        run = EXPERIMENT.run(**arguments)
    assert {row.method for row in run.results} == {"sync"}


def test_a_callback_that_fails_ends_tunes_session(tmp_path):
    watch = TrialWatch({"sync-seed0": tmp_path}, [Fails()])
    stops = TrialDisplay(Progress({}), watch)
    assert not stops.stop_all()
    (tmp_path / "checkpoints/checkpoint_000010").mkdir(parents=True)
    watch.poll(is_due=True)
    assert stops.stop_all() and isinstance(watch.failure, ZeroDivisionError)


def test_a_callbacks_error_is_told_also_where_tune_fails_while_it_ends_the_session(ray_session, tmp_path, monkeypatch):
    def ends_badly(requests, budgets, *, watch, **_):
        Trial(EXPERIMENT, dataclasses.replace(SMOKE, **SMALL), "sync", 0, Path(requests[0]["folder"])).run(
            lambda row: watch.poll(is_due=True), 640
        )
        raise RuntimeError("an actor died while it was stopped")

    monkeypatch.setattr(launching, "run_trials", ends_badly)
    with pytest.raises(ZeroDivisionError, match="mine"):
        EXPERIMENT.run("smoke", out=tmp_path / "run", seeds=[0], methods=["sync"], callbacks=[Fails()], **SMALL)


def test_a_watch_tells_each_thing_once_also_of_a_trial_that_starts_again(tmp_path):
    notes, config = Diary(), dataclasses.replace(SMOKE, **SMALL)

    def train(until=None):
        Trial(EXPERIMENT, config, "sync", 0, tmp_path).run(lambda row: watch.poll(is_due=True), until)

    watch = TrialWatch({"sync-seed0": tmp_path}, [notes])
    train(640)
    train()
    watch.poll(is_due=True)
    steps = [step for what, _, step in notes.events if what == "validation"]
    assert steps == [row["env_steps"] for row in read_metrics(tmp_path / "metrics.jsonl")]
    checkpoints = [path for what, _, path in notes.events if what == "checkpoint"]
    assert len(checkpoints) == len(set(checkpoints)) == 5
    late = TrialWatch({"sync-seed0": tmp_path}, [again := Diary()])
    late.poll(is_due=True)
    assert again.events == [], "what there was before is not new"
