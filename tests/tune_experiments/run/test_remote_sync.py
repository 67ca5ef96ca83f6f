"""A run in a store: the copy is whole, continues anywhere, outlives an outage, and touches nothing that others keep."""

import json
import math
import os
import shutil
import socket
import tempfile
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rl_models.training.checkpoint import newest_complete_checkpoint, prune, save_checkpoint
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.run.remote_runs import (
    CONFIG,
    HIDDEN,
    TRIAL,
    claim,
    contents,
    copy_at,
    damage,
    fail,
    interrupt,
    put,
    refuse,
    run_in,
    short_manifest,  # noqa: F401 (used by every test here)
    visible,
)
from tune_experiments.core.errors import StoreUnavailableError, UserError
from tune_experiments.core.storage_uri import join_path
from tune_experiments.launch import launch
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run import remote_claim, remote_sync, tuning
from tune_experiments.run.final_evaluation import write_test_results
from tune_experiments.run.remote_sync import RemoteSync, open_run, synced_folder
from tune_experiments.run.request import make_request
from tune_experiments.run.run_folder import ANNOUNCED, read_sessions


def test_a_trial_lies_below_its_run_and_the_query_of_a_uri_stays_at_its_end():
    assert join_path("s3://bucket/run?region=eu-west-1", TRIAL) == f"s3://bucket/run/{TRIAL}?region=eu-west-1"
    assert join_path("gs://anonymous@bucket/run/", TRIAL) == f"gs://anonymous@bucket/run/{TRIAL}"
    assert join_path("/shared/what?", TRIAL) == f"/shared/what?/{TRIAL}"


def test_each_trial_of_a_run_whose_uri_has_a_query_has_a_folder_of_its_own(tmp_path, monkeypatch):
    trained = []

    class Tuner:
        def __init__(self, trainable, param_space, tune_config, **named):
            if (searcher := tune_config.search_alg) is None:
                requests = param_space["request"]["grid_search"]
            else:
                requests = [searcher.suggest(str(number))["request"] for number in range(2)]
            trained.extend(request["uri"] for request in requests)

        def fit(self):
            return []

    monkeypatch.setattr("ray.tune.Tuner", Tuner)
    monkeypatch.setattr(tuning, "train_request", lambda request, *_: trained.append(request["uri"]))
    run = SimpleNamespace(uri="s3://bucket/run?region=eu-west-1", run_id="0", trial=lambda name: tmp_path / name)
    requests = [make_request("matrix_game", SMOKE, "sync", seed, run, f"sync-seed{seed}") for seed in (0, 1)]
    budgets = {request["name"]: 1 for request in requests}
    tuning.run_local_trials(requests, budgets, columns={})
    tuning.run_trials(requests, budgets, concurrent=1, out=tmp_path, columns={})
    in_slice = [request | {"ends_at": math.inf} for request in requests]
    tuning.run_trials(in_slice, budgets, concurrent=1, out=tmp_path, columns={})
    assert trained == 3 * [f"s3://bucket/run/trials/{name}?region=eu-west-1" for name in budgets]


def test_a_run_goes_on_with_the_newest_whole_checkpoint_and_those_that_it_needs(tmp_path):
    """The store keeps all others; one whose upload was cut off, and one that is damaged, are not taken for whole."""
    checkpoints = tmp_path / "store" / "checkpoints"
    state = {"choice": {"value": 1.0, "env_steps": 2}, "curriculum": {"ended": [{"env_steps": 3, "chosen": 1}]}}
    with synced_folder(copy_at(tmp_path / "store")) as (folder, copy):
        (folder / ".writer.lock").touch()
        for step in range(8):
            save_checkpoint(folder / "checkpoints", step, {"w": {"a": np.zeros(2)}}, state)
            assert copy.push()
            prune(folder / "checkpoints", keep=1)
    assert len(list(checkpoints.iterdir())) == 8
    (checkpoints / "checkpoint_000007" / "state.json").unlink()
    (checkpoints / "checkpoint_000006" / "w.safetensors").write_bytes(b"")
    with synced_folder(copy_at(tmp_path / "store")) as (again, _):
        assert newest_complete_checkpoint(again / "checkpoints").name == "checkpoint_000005"
        assert {path.name for path in again.iterdir()} == {"checkpoints"}, "no hidden file"
        there = {path.name for path in (again / "checkpoints").iterdir()}
        assert there == {f"checkpoint_{step:06d}" for step in (1, 2, 3, 5, 6)}
        save_checkpoint(again / "checkpoints", 6, {"w": {"a": np.ones(2)}}, {})
    assert newest_complete_checkpoint(checkpoints).name == "checkpoint_000006"


def test_curves_of_a_run_that_was_continued_twice_have_every_point_once(tmp_path):
    run_in(tmp_path, 0)
    damage(tmp_path, 3)
    with pytest.raises(ZeroDivisionError):
        run_in(tmp_path, 2, end=fail)
    run_in(tmp_path, 5)
    events = EventAccumulator(str(tmp_path / TRIAL)).Reload()
    assert [point.step for point in events.Scalars("loss")] == list(range(1, 9))
    assert [row["env_steps"] for row in read_metrics(tmp_path / TRIAL / "metrics.jsonl")] == list(range(1, 9))


def test_what_trials_have_left_replaces_nothing_that_the_run_has_written_meanwhile(tmp_path):
    with open_run(Path(copy_at(tmp_path)), CONFIG, "matrix_game", (0,)) as (run, copy):
        run.record(ANNOUNCED, ["sync over marginal"])
        copy.pull("trials/")
        assert read_sessions(run.path, may_be_missing=True)[-1][ANNOUNCED] == ["sync over marginal"]


def test_a_store_says_what_a_run_compares_before_the_run_trains(tmp_path, monkeypatch):
    found = []

    def look(requests, **_):
        found.extend(read_sessions(tmp_path / "store", may_be_missing=True)[-1][ANNOUNCED])
        return {request["name"]: "nothing was trained" for request in requests}

    monkeypatch.setattr(launch, "run_local_trials", look)
    with pytest.raises(UserError, match="nothing was trained"):
        EXPERIMENT.run("smoke", out=copy_at(tmp_path / "store"), seeds=(0,), local=True)
    assert len(found) == 1


def test_a_copy_that_was_cut_off_holds_no_checkpoint_that_looks_whole_and_results_come_last(tmp_path, monkeypatch):
    folder, store = tmp_path / "a", tmp_path / "store"
    for step in (1, 2):
        save_checkpoint(folder / "checkpoints", step, {"actor": {"a": np.zeros(2)}, "weights": {"a": np.zeros(2)}}, {})
    write_test_results(folder, [])
    copy = RemoteSync(folder, copy_at(store))
    write, sent, most = copy.write, [], 4

    def breaks(name, content):
        if len(sent) == most:
            raise OSError("connection lost")
        sent.append(name)
        write(name, content)

    monkeypatch.setattr(copy, "write", breaks)
    assert not copy.push()
    assert newest_complete_checkpoint(store / "checkpoints") is None
    most = 7
    assert copy.push(), "the next call sends the rest"
    assert [Path(name).name for name in sent[-3:]] == ["state.json", "state.json", "test_results.json"]
    assert newest_complete_checkpoint(store / "checkpoints") is not None


def test_what_was_done_is_kept_when_the_work_fails_and_waits_for_the_store_when_it_succeeds(tmp_path, monkeypatch):
    store = tmp_path / "store"
    with pytest.raises(ZeroDivisionError), synced_folder(copy_at(store)) as (folder, _):
        (folder / "metrics.jsonl").write_text("row\n")
        raise ZeroDivisionError
    assert contents(store) == {"metrics.jsonl": b"row\n"}
    monkeypatch.setattr(remote_sync, "RETRY_SECONDS", 0.01)
    write, calls = RemoteSync.write, []

    def away_at_first(self, name, content):
        calls.append(name)
        if len(calls) < 3:
            raise OSError("away")
        write(self, name, content)

    monkeypatch.setattr(RemoteSync, "write", away_at_first)
    with synced_folder(copy_at(store)) as (folder, _):
        (folder / "table.md").write_text("done")
    assert contents(store)["table.md"] == b"done"


UNWRITABLE = "file:///proc/run1"
"""No user may make a folder there, root neither."""


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        pytest.raises(UserError, match=f"^{UNWRITABLE} .*--out"),
        open_run(Path(UNWRITABLE), CONFIG, "matrix_game", (0,)),
    ):
        pytest.fail("it trains")
    assert contents(tmp_path) == {}


def stays_away(*_):
    raise OSError("away")


@pytest.mark.parametrize(
    ("ends", "error"),
    [(lambda: None, UserError), (fail, ZeroDivisionError), (refuse, UserError), (interrupt, KeyboardInterrupt)],
)
@pytest.mark.parametrize("opens", [synced_folder, lambda uri: open_run(Path(uri), CONFIG, "matrix_game", (0,))])
def test_a_folder_that_the_store_does_not_take_is_kept_and_named(opens, ends, error, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_sync, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(remote_sync, "TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "machine"))
    (tmp_path / "machine").mkdir()
    uri = copy_at(tmp_path / "store")
    with pytest.raises(error) as told, opens(uri) as pair:
        (found,) = [one for one in pair if isinstance(one, RemoteSync)]
        (found.folder / "table.md").write_text("done")
        monkeypatch.setattr(RemoteSync, "write", stays_away)
        ends()
    (folder,) = (tmp_path / "machine").iterdir()
    assert (folder / "table.md").read_text() == "done"
    last_line = "".join(traceback.format_exception(told.value)).strip().splitlines()[-1]
    assert f"{folder} on {socket.gethostname()}" in last_line and uri in last_line


def test_a_file_that_vanishes_while_it_is_sent_is_no_error(tmp_path, monkeypatch):
    stamp = remote_sync.file_stamp

    def vanishes(path):
        if path.name == "passing.txt":
            path.unlink()
        return stamp(path)

    with synced_folder(copy_at(tmp_path)) as (folder, copy):
        monkeypatch.setattr(remote_sync, "file_stamp", vanishes)
        (folder / "table.md").write_text("done")
        (folder / "passing.txt").write_text("gone")
        assert copy.push()
    assert contents(tmp_path) == {"table.md": b"done"}


def test_a_folder_that_cannot_be_listed_is_not_taken_for_uploaded(tmp_path, monkeypatch):
    with synced_folder(copy_at(tmp_path)) as (folder, copy):
        (folder / "table.md").write_text("done")
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", stays_away)
            assert not copy.push()
        assert copy.push()


def test_a_run_sends_its_own_files_and_leaves_those_of_its_trials_alone(tmp_path):
    store = tmp_path / "store"
    with open_run(Path(copy_at(store)), {"a": 1}, "matrix_game", (0,)) as (run, copy):
        assert "config.json" in contents(store), "a run that is killed now can be continued"
        with synced_folder(f"{copy_at(store)}/trials/sync-seed0") as (folder, _):
            (folder / "test_results.json").write_text("{}")
        copy.pull("trials/")
        assert (run.trial("sync-seed0") / "test_results.json").exists()
        (run.path / "tune").mkdir()
        (run.path / "tune" / "tuner.pkl").write_bytes(b"pickled")
        assert copy.uri == copy_at(store)
    assert set(visible(contents(store))) == {"config.json", "manifest.json", "trials/sync-seed0/test_results.json"}
    with pytest.raises(UserError, match="--a 1 -> 2"), open_run(Path(copy_at(store)), {"a": 2}, "matrix_game", (0,)):
        pass


def test_a_budget_that_was_raised_by_mistake_may_be_lowered_in_a_store(tmp_path):
    def opened(budget):
        return open_run(Path(copy_at(tmp_path)), {"a": budget}, "matrix_game", (0,), {"a": "grows"})

    for budget in (1, 3, 2):
        with opened(budget), synced_folder(f"{copy_at(tmp_path)}/{TRIAL}") as (folder, _):
            if budget == 1:
                save_checkpoint(folder / "checkpoints", 1, {}, {"config": {"a": 1}})
    with pytest.raises(UserError, match="--a 2 -> 0"), opened(0):
        pytest.fail("it was trained with 1")


def test_a_second_run_is_refused_while_the_first_one_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(remote_claim, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(remote_claim, "TIMEOUT_SECONDS", TIMEOUT_SECONDS)
    uri = copy_at(tmp_path)
    with open_run(Path(uri), CONFIG, "matrix_game", (0,)) as (first, _):
        before = visible(contents(tmp_path))
        who = f"process {os.getpid()} on {socket.gethostname()}"
        with pytest.raises(UserError, match=f"^{uri} .* {who}.*--out"):
            run_in(tmp_path, 0)
        assert visible(contents(tmp_path)) == before
        (first.path / "table.md").write_text("done")
    assert contents(tmp_path)["table.md"] == b"done"
    run_in(tmp_path, 0)  # the claim was given back


def test_a_run_that_was_killed_is_continued_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(remote_claim, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(remote_claim, "TIMEOUT_SECONDS", 0.05)
    run_in(tmp_path, 0)
    claim(tmp_path, beat=12)
    run_in(tmp_path, 3)
    assert "results.jsonl" in contents(tmp_path)


def test_of_two_runs_that_begin_at_once_the_one_whose_claim_stands_goes_on(tmp_path, monkeypatch):
    # The module's clock alone: other threads of this process sleep, too.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: claim(tmp_path, beat=0))
    monkeypatch.setattr(remote_claim, "time", clock)
    with pytest.raises(UserError, match="7 on elsewhere"):
        run_in(tmp_path, 0)
    assert set(contents(tmp_path)) == {remote_claim.CLAIM_FILE}, "that of the other one"


@pytest.mark.parametrize("is_over", [False, True])
def test_a_run_whose_claim_was_taken_over_sends_nothing_more(is_over, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_claim, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = tmp_path / "store"
    with (
        pytest.raises(UserError, match=f"^{copy_at(store)} .* 7 on elsewhere"),
        open_run(Path(copy_at(store)), CONFIG, "matrix_game", (0,)) as (run, sync),
    ):
        (run.path / "table.md").write_text("mine")
        while sync.claim.beats.is_alive():  # a renewal that is under way may overwrite it once
            claim(store, beat=0, is_over=is_over)
            sync.claim.beats.join(0.05)
    assert "table.md" not in contents(store)
    assert json.loads(contents(store)[remote_claim.CLAIM_FILE])["host"] == "elsewhere"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (HIDDEN | {"data/big.bin": b"x" * 1000}, "data"),
        ({"config.json": b'{"model_type": "bert"}', "model.bin": b"x"}, "schema version None"),
        ({"config.json": b"{", "model.bin": b"x"}, "config.json"),
    ],
)
def test_a_store_of_others_is_refused_by_its_name_and_not_fetched(files, said, tmp_path, monkeypatch):
    put(tmp_path, files)
    read, fetched = RemoteSync.read, []
    monkeypatch.setattr(RemoteSync, "read", lambda self, name: fetched.append(name) or read(self, name))
    with pytest.raises(UserError, match=said) as refusal:
        run_in(tmp_path, 0)
    assert str(refusal.value).startswith(copy_at(tmp_path))
    assert tempfile.gettempdir() + "/concord_" not in str(refusal.value)
    assert set(fetched) <= {"config.json"}
    assert contents(tmp_path) == files


def test_a_folder_that_vanishes_takes_nothing_with_it(tmp_path):
    run_in(tmp_path, 0)
    before = contents(tmp_path)
    with (
        pytest.raises(FileNotFoundError, match=f"^{copy_at(tmp_path)}/{TRIAL} "),
        synced_folder(f"{copy_at(tmp_path)}/{TRIAL}") as (folder, _),
    ):
        shutil.rmtree(folder)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("error", "told"),
    [(ConnectionError("no answer"), StoreUnavailableError), (FileNotFoundError("no bucket"), UserError)],
)
def test_only_of_a_store_that_does_not_answer_it_is_told_that_this_may_pass(error, told, tmp_path, monkeypatch):
    def away(*_, **__):
        raise error

    monkeypatch.setattr(RemoteSync, "names", away)
    with pytest.raises(UserError) as refusal, synced_folder(copy_at(tmp_path)):
        pytest.fail("nothing is trained without the store")
    assert type(refusal.value) is told
