"""Weights & Biases is a guest: offline it writes files, and training does not notice where it (a stand-in) refuses."""

import shutil
import sys
import types
from pathlib import Path
from unittest.mock import Mock

import pytest

from cluster.testing.local_cluster import wait_until
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.matrix_game import SMOKE
from tune_experiments.run import remote_claim, run_folder, tuning
from tune_experiments.run.remote_sync import open_run
from tune_experiments.run.reports import WandbLogger
from tune_experiments.run.request import make_request

IDENTITY = {"experiment": "matrix_game", "method": "sync", "seed": 0, "config": {"games": 8}}
ROWS = [{"env_steps": 10, "loss/total": 1.0, "notice": "hello"}, {"env_steps": 20, "loss/total": 0.5}]


@pytest.fixture
def wandb(monkeypatch):
    """`wandb() -> module`: puts a module in place that takes all calls."""
    monkeypatch.setenv("WANDB_PROJECT", "concord")

    def install():
        monkeypatch.setitem(sys.modules, "wandb", Mock(**{"init.return_value.summary": {}}))
        return sys.modules["wandb"]

    return install


def train(name="sync-seed0", folder=Path("trial")):
    """What training reports, and what came through."""
    rows = []
    with WandbLogger(rows.append, IDENTITY, name, "4f", folder) as report:
        for row in ROWS:
            report(dict(row))
    return rows


def id_of(module):
    return module.init.call_args.kwargs["id"]


def names_of_calls(module):
    return [name.removeprefix("init().") for name, _, _ in module.mock_calls]


@pytest.mark.processes
def test_offline_rows_and_configuration_are_kept_in_the_folder_of_the_trial(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="needs the extra `wandb`")
    for name, value in {"PROJECT": "concord", "MODE": "offline", "SILENT": "true", "ERROR_REPORTING": "false"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    monkeypatch.delenv("WANDB_DIR", raising=False)
    assert train(folder=tmp_path) == ROWS
    (written,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    words = (b"loss/total", b"env_steps", b"sync-seed0", b"matrix_game", b"games")

    def is_whole():
        return all(word in written.read_bytes() for word in words)

    wait_until(is_whole, TIMEOUT_SECONDS, f"{written} lacks rows")  # a process of its own writes them


def test_rows_go_to_the_trials_own_run(wandb):
    module = wandb()
    assert train() == ROWS
    assert names_of_calls(module) == ["init", "define_metric", "define_metric", "log", "log", "finish"]
    begun, run = module.init.call_args.kwargs, module.init.return_value
    assert (begun["project"], begun["name"], begun["group"]) == ("concord", "sync-seed0", "matrix_game")
    assert (begun["config"], begun["dir"]) == (IDENTITY, "trial")
    assert run.log.call_args_list[0].args == ({"env_steps": 10, "loss/total": 1.0},), "numbers alone"
    run.finish.assert_called_with(exit_code=0)
    with pytest.raises(ZeroDivisionError), WandbLogger(lambda row: None, IDENTITY, "sync-seed0", "4f", Path("trial")):
        raise ZeroDivisionError
    run.finish.assert_called_with(exit_code=1)
    again = wandb()
    train()
    assert id_of(again) == begun["id"], "a continued trial is the same run"
    other = wandb()
    train("sync-seed1")
    assert id_of(other) != begun["id"]


def test_rows_that_a_resumed_run_has_are_not_sent_again(wandb):
    run = wandb().init.return_value
    run.summary["env_steps"] = 10
    assert train() == ROWS
    assert [call.args[0]["env_steps"] for call in run.log.call_args_list] == [20]


def test_runs_that_have_nothing_in_common_but_a_place_are_two_runs_there(wandb, tmp_path, monkeypatch):
    """By what Tune calls in a trial's process; one that is continued is the same run, its folder or store knows it."""
    monkeypatch.setattr(run_folder, "describe_session", lambda seeds: {})
    monkeypatch.setattr(remote_claim, "PROPAGATION_SECONDS", 0.0)
    monkeypatch.setattr(tuning, "Trial", lambda *of: types.SimpleNamespace(run=lambda report, until: report(ROWS[0])))
    monkeypatch.setattr("ray.tune.report", lambda row: None)

    def ids(out):
        module = wandb()
        with open_run(out, {}, "matrix_game", (0,)) as (folder, _):
            request = make_request("matrix_game", SMOKE, "sync", 0, folder, "sync-seed0")
            tuning.train_trial({"request": request})
        return id_of(module)

    for out in (tmp_path / "a", Path(f"file://{tmp_path}/b")):
        first = ids(out)
        assert ids(out) == first
        shutil.rmtree(tmp_path / out.name)
        assert ids(out) != first


@pytest.mark.parametrize("refuses", ["init", "define_metric", "log", "finish"])
def test_a_refusal_is_said_once_and_training_goes_on(wandb, refuses):
    module = wandb()
    getattr(module.init.return_value, refuses).side_effect = ConnectionError(f"{refuses} did not work\nat all")
    module.init.side_effect = SystemExit("no key") if refuses == "init" else None
    rows = train()
    assert [row for row in rows if "env_steps" in row] == ROWS
    (said,) = [row["notice"] for row in rows if "env_steps" not in row]
    assert said.startswith("Weights & Biases ")
    assert "\n" not in said
    assert names_of_calls(module).count(refuses) == 1, "it is not tried again"


def test_without_a_project_nobody_is_asked(wandb, monkeypatch):
    module = wandb()
    monkeypatch.delenv("WANDB_PROJECT")
    assert train() == ROWS
    assert module.mock_calls == []
