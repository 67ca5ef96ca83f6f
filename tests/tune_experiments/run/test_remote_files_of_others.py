"""What others keep in a run's store is never changed, and a run deletes only what it sent."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rl_models.training.checkpoint import prune, save_checkpoint
from tests.tune_experiments.run.remote_runs import (
    HIDDEN,
    TRIAL,
    contents,
    copy_at,
    fail,
    interrupt,
    put,
    run_in,
    short_manifest,  # noqa: F401 (used by every test here)
    visible,
)
from tune_experiments.core.errors import UserError
from tune_experiments.run import remote_claim
from tune_experiments.run.remote_sync import RemoteSync, synced_folder

PLACES = ["", ".git/", "data/", "plots/", "trials/", "tune/"]
CHECKPOINTS = [f"checkpoints/{inner}" for inner in ("", "checkpoint_000002/", "checkpoint_000099/")]
PLACES += [f"{TRIAL}/{inner}" for inner in ("", *CHECKPOINTS, "texts/")]
NAMES = ["key", ".env", "notes.txt", "events.out.tfevents.1700000000.host.7.0", "picture.png", "state.json.bak"]
NAMES += ["99.png", "events.out.tfevents.1700000000.99", "other.safetensors", "shard.json"]  # as trials name theirs
STRANGERS = st.dictionaries(
    st.builds("{}{}".format, st.sampled_from(PLACES), st.sampled_from(NAMES)), st.binary(max_size=8), min_size=1
)


@pytest.mark.long
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STRANGERS, st.sampled_from(["new", "fails", "continued", "rewound", "refused", "fails, continued"]))
@example({f"{TRIAL}/checkpoints/checkpoint_000099/shard.json": b"weights"}, "rewound")
def test_whatever_lay_in_the_store_before_is_there_afterwards(files, how):
    with tempfile.TemporaryDirectory() as name:
        store = Path(name)
        goes_on = "continued" in how or how == "rewound"
        if goes_on or how == "refused":
            run_in(store, 0)
        put(store, files)
        before = contents(store)
        if how == "refused":
            with pytest.raises(UserError, match="--a 1 -> 2"):
                run_in(store, 0, config={"a": 2})
            assert contents(store) == before
            return
        try:
            begin = 1 if how == "rewound" else 3 if goes_on else 0
            run_in(store, begin, end=fail if "fails" in how else lambda: None)
        except UserError:
            assert how in ("new", "fails")
            assert any(not name.startswith(".") for name in files)
            assert contents(store) == before
        except ZeroDivisionError:
            assert "fails" in how
        assert files.items() <= contents(store).items()


def test_a_run_deletes_what_it_has_sent_from_another_machine(tmp_path):
    run_in(tmp_path, 0)
    put(tmp_path, HIDDEN)
    run_in(tmp_path, 3)
    found = contents(tmp_path)
    assert {name.split("/")[3] for name in found if "checkpoint_" in name} == {"checkpoint_000005", "checkpoint_000006"}
    events = [len(content) for name, content in found.items() if "events.out" in name]
    assert len([size for size in events if size]) == 1, "those of the session before are replaced"
    assert HIDDEN.items() <= found.items()


def test_a_name_that_the_run_did_not_send_is_not_deleted_and_stays_unknown_to_it(tmp_path):
    run_in(tmp_path, 0)
    strangers = f"{TRIAL}/checkpoints/checkpoint_000099/shard.json"
    put(tmp_path, {strangers: b"weights"})
    run_in(tmp_path, 1)
    sent = json.loads(contents(tmp_path)[f"{TRIAL}/.concord.sent.json"])["sent"]
    assert contents(tmp_path)[strangers] == b"weights"
    assert f"{TRIAL}/{sent[0]}" in contents(tmp_path)
    assert not strangers.endswith(tuple(sent))


def test_a_run_that_was_killed_between_sending_and_deleting_deletes_on_continuing(tmp_path, monkeypatch):
    """Its ledger stands before its files."""
    folder, store = tmp_path / "a", tmp_path / "store"
    sends = RemoteSync(folder, copy_at(store))
    save_checkpoint(folder / "checkpoints", 1, {"weights": {"a": np.zeros(2)}}, {})
    monkeypatch.setattr(sends._ledger, "remove", lambda names: interrupt())
    with pytest.raises(KeyboardInterrupt):
        sends.push()
    with synced_folder(copy_at(store)) as (again, _):
        save_checkpoint(again / "checkpoints", 2, {"weights": {"a": np.zeros(2)}}, {})
        prune(again / "checkpoints", keep=1)
    assert {name.split("/")[1] for name in visible(contents(store))} == {"checkpoint_000002"}


@pytest.mark.parametrize("text", [b"", b"[]", b'{"mine": 1}'])
@pytest.mark.parametrize("name", [".concord.sent.json", remote_claim.CLAIM_FILE])
def test_a_file_of_others_that_has_the_name_of_a_runs_own_one_is_refused(name, text, tmp_path):
    run_in(tmp_path, 0)
    put(tmp_path, {name: text})
    before = contents(tmp_path)
    with pytest.raises(UserError, match=rf"^{copy_at(tmp_path)}/{name} is not a file of a run; move it away"):
        run_in(tmp_path, 3)
    assert contents(tmp_path) == before
