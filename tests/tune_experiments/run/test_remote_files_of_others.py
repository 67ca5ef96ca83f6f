"""What others keep in a run's store is never changed, and nothing in it is deleted."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tune_experiments.run.remote_runs import (
    TRIAL,
    contents,
    copy_at,
    damage,
    fail,
    put,
    run_in,
    short_manifest,  # noqa: F401 (used by every test here)
)
from tune_experiments.core.errors import UserError
from tune_experiments.run import remote_claim

PLACES = ["", ".git/", "data/", "plots/", "trials/", "tune/"]
CHECKPOINTS = [f"checkpoints/{inner}" for inner in ("", "checkpoint_000002/", "checkpoint_000099/")]
PLACES += [f"{TRIAL}/{inner}" for inner in ("", *CHECKPOINTS, "texts/")]
NAMES = ["key", ".env", "notes.txt", "events.out.tfevents.1700000000.host.7.0", "picture.png", "state.json.bak"]
NAMES += ["99.png", "events.out.tfevents.1700000000.99", "other.safetensors", "shard.json"]  # as trials name theirs
STRANGERS = st.dictionaries(
    st.builds("{}{}".format, st.sampled_from(PLACES), st.sampled_from(NAMES)), st.binary(max_size=8), min_size=1
)


@pytest.mark.long
@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STRANGERS, st.sampled_from(["new", "fails", "continued", "rewound", "refused", "fails, continued"]))
@example({f"{TRIAL}/checkpoints/checkpoint_000099/shard.json": b"weights"}, "rewound")
def test_whatever_lay_in_the_store_before_is_there_afterwards(files, how):
    with tempfile.TemporaryDirectory() as name:
        store = Path(name)
        goes_on = "continued" in how or how == "rewound"
        if goes_on or how == "refused":
            run_in(store, 0)
        for step in (2, 3) if how == "rewound" else ():
            damage(store, step)
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


@pytest.mark.parametrize("text", [b"", b"[]", b'{"mine": 1}'])
def test_a_file_of_others_that_has_the_name_of_the_claim_is_refused(text, tmp_path):
    run_in(tmp_path, 0)
    put(tmp_path, {remote_claim.CLAIM_FILE: text})
    before = contents(tmp_path)
    with pytest.raises(UserError, match=rf"^{copy_at(tmp_path)}/{remote_claim.CLAIM_FILE} "):
        run_in(tmp_path, 3)
    assert contents(tmp_path) == before
