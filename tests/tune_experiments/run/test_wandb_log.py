"""Weights & Biases is a guest: a stand-in for its module refuses at every point, and training does not notice."""

import sys
import types

import pytest

from tune_experiments.run.wandb_log import WandbMirror

IDENTITY = {"experiment": "matrix_game", "method": "sync", "seed": 0, "config": {"games": 8}}
ROWS = [{"env_steps": 10, "loss/total": 1.0, "said": "hello"}, {"env_steps": 20, "loss/total": 0.5}]


class Run:
    def __init__(self, refuses=()):
        self.calls, self.refuses = [], refuses

    def __getattr__(self, name):
        def call(*arguments, **named):
            self.calls.append((name, arguments, named))
            if name in self.refuses:
                raise ConnectionError(f"{name} did not work\nat all")

        return call


@pytest.fixture
def wandb(monkeypatch):
    """`wandb(refuses) -> run`: puts a module in place whose run refuses these calls."""
    monkeypatch.setenv("WANDB_PROJECT", "concord")

    def install(refuses=()):
        run, module = Run(refuses), types.ModuleType("wandb")

        def init(**named):
            run.calls.append(("init", (), named))
            if "init" in refuses:
                raise SystemExit("no key")
            return run

        module.init = init
        monkeypatch.setitem(sys.modules, "wandb", module)
        return run

    return install


def train(folder):
    """What training reports, and what came through."""
    rows = []
    with WandbMirror(rows.append, IDENTITY, folder) as report:
        for row in ROWS:
            report(dict(row))
    return rows


def test_rows_go_to_the_run_of_the_folder(wandb, tmp_path):
    run = wandb()
    assert train(tmp_path / "sync-seed0") == ROWS
    names = [name for name, _, _ in run.calls]
    assert names == ["init", "define_metric", "define_metric", "log", "log", "finish"]
    begun = run.calls[0][2]
    assert (begun["project"], begun["name"], begun["group"]) == ("concord", "sync-seed0", "matrix_game")
    assert begun["config"] == IDENTITY
    assert run.calls[3][1] == ({"env_steps": 10, "loss/total": 1.0},), "numbers alone"
    assert run.calls[-1][2] == {"exit_code": 0}
    again = wandb()
    train(tmp_path / "sync-seed0")
    assert again.calls[0][2]["id"] == begun["id"], "a continued trial is the same run"
    train(tmp_path / "sync-seed1")
    assert [named["id"] for name, _, named in again.calls if name == "init"][1] != begun["id"]


@pytest.mark.parametrize("refuses", ["init", "define_metric", "log", "finish"])
def test_a_refusal_is_said_once_and_training_goes_on(wandb, tmp_path, refuses):
    run = wandb({refuses})
    rows = train(tmp_path)
    assert [row for row in rows if "env_steps" in row] == ROWS
    (said,) = [row["said"] for row in rows if "env_steps" not in row]
    assert said.startswith("Weights & Biases gets nothing of this trial any more (")
    assert "\n" not in said
    assert sum(name == refuses for name, _, _ in run.calls) == 1, "it is not tried again"


def test_without_the_package_it_is_said_too(wandb, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)  # as if it were not installed
    rows = train(tmp_path)
    assert len(rows) == len(ROWS) + 1
    assert "wandb" in rows[0]["said"]


def test_without_a_project_nobody_is_asked(wandb, tmp_path, monkeypatch):
    run = wandb()
    monkeypatch.delenv("WANDB_PROJECT")
    assert train(tmp_path) == ROWS
    assert run.calls == []


def test_a_trial_that_fails_ends_its_run_as_failed(wandb, tmp_path):
    run = wandb()
    with pytest.raises(ZeroDivisionError), WandbMirror(lambda row: None, IDENTITY, tmp_path):
        raise ZeroDivisionError
    assert run.calls[-1] == ("finish", (), {"exit_code": 1})
