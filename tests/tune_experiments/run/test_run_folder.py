"""Rules of a run's folder: created or continued, never mixed, never shared."""

import json
import os

import pytest

from rl_models.training.checkpoint import save_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.results.main_comparison import BEFORE, NOT_RECORDED, UNANNOUNCED, MainComparison
from tune_experiments.run import manifest, run_folder
from tune_experiments.run.final_evaluation import write_test_results
from tune_experiments.run.run_folder import ANNOUNCED, RunFolder, read_config, with_announcement_times

CONFIG = {"learner": {"learning_rate": 0.1, "widths": (1, 2)}, "world": "furnmove-v0"}


@pytest.fixture(autouse=True)
def short_manifest(monkeypatch):
    """Asking git and the driver each time would make these tests slow; one test below does ask."""
    monkeypatch.setattr(run_folder, "describe_session", lambda seeds: {"seeds": list(seeds)})


def test_a_new_folder_gets_config_and_manifest(tmp_path, monkeypatch):
    monkeypatch.undo()
    out = tmp_path / "runs" / "a"
    with RunFolder.open(out, CONFIG, "furnmove_sync", seeds=(0, 1)) as folder:
        assert folder.trial("sync_seed0").is_dir()
    assert read_config(out) == (
        "furnmove_sync",
        {"learner": {"learning_rate": 0.1, "widths": [1, 2]}, "world": "furnmove-v0"},
    )
    (session,) = json.loads((out / "manifest.json").read_text())["sessions"]
    assert session["seeds"] == [0, 1]
    assert session["versions"]["numpy"]
    assert session["hardware"]["cores"] >= 1
    assert session["git"] is None or len(session["git"]["commit"]) == 40


@pytest.mark.parametrize(("status", "is_dirty"), [("", False), (" M a.py", True), (None, True)])
def test_a_checkout_is_clean_only_where_git_says_so(status, is_dirty, monkeypatch):
    monkeypatch.setattr(manifest, "_output", lambda *command: status if "status" in command else "0" * 40)
    assert manifest.describe_session([0])["git"]["dirty"] == is_dirty


RATE = "learner.learning_rate"


@pytest.mark.parametrize(
    ("rule", "new", "is_allowed"),
    [
        ("changes", 0.05, True),
        ("grows", 0.2, True),
        ("grows", 0.05, False),
        ("stays", 0.2, False),
        ("gains", (2, 1, 3), True),
        ("gains", (1, 3), False),
    ],
)
def test_a_field_may_do_what_its_rule_says(tmp_path, rule, new, is_allowed):
    name = "widths" if rule == "gains" else "learning_rate"
    other = {**CONFIG, "learner": CONFIG["learner"] | {name: new}}
    rules = {f"learner.{name}": rule}
    RunFolder.open(tmp_path, CONFIG, "furnmove_sync").close()
    save_checkpoint(tmp_path / "trials/sync-seed0/checkpoints", 160, {}, {"config": CONFIG})
    if not is_allowed:
        with pytest.raises(UserError, match=f"--learner.{name.replace('_', '-')} "):
            RunFolder.open(tmp_path, other, "furnmove_sync", rules=rules)
        return
    with RunFolder.open(tmp_path, other, "furnmove_sync", rules=rules) as folder:
        assert len(folder.changed) == (rule != "gains")
    assert read_config(tmp_path)[1]["learner"][name] == (list(new) if rule == "gains" else new)
    sessions = json.loads((tmp_path / "manifest.json").read_text())["sessions"]
    assert [len(session.get("changed", ())) for session in sessions] == [0, rule != "gains"]


@pytest.mark.parametrize("left", ["checkpoint", "test"])
def test_a_budget_that_was_raised_by_mistake_may_be_lowered_to_what_was_trained_or_tested_with(tmp_path, left):
    def opened(rate):
        config = {**CONFIG, "learner": CONFIG["learner"] | {"learning_rate": rate}}
        return RunFolder.open(tmp_path, config, "furnmove_sync", rules={RATE: "grows"})

    with opened(0.1) as folder:
        trial = folder.trial("sync-seed0")
    if left == "checkpoint":
        save_checkpoint(trial / "checkpoints", 160, {}, {"config": CONFIG})
    else:
        write_test_results(trial, [], {RATE: 0.1})
    opened(0.3).close()  # nothing is trained with it
    with pytest.raises(UserError, match=r"--learner.learning-rate 0.3 -> 0.05, which may only grow"):
        opened(0.05)
    with opened(0.2) as folder:
        assert folder.changed == ("--learner.learning-rate 0.3 -> 0.2",)


def test_a_folder_without_any_checkpoint_takes_any_flags_and_loses_nothing(tmp_path):
    with RunFolder.open(tmp_path, CONFIG, "furnmove_sync") as folder:
        (folder.trial("sync-seed0") / "language_model").write_text("of the old flags")
    other = {**CONFIG, "world": "furnlift-v0"}
    with RunFolder.open(tmp_path, other, "furnmove_sync") as folder:
        assert list((folder.path / "trials").iterdir()) == []
    assert read_config(tmp_path)[1]["world"] == "furnlift-v0"
    assert [path.read_text() for path in tmp_path.glob(".*/*/sync-seed0/language_model")] == ["of the old flags"]


@pytest.mark.parametrize("left", ["checkpoints/checkpoint_000160", "test_results.json"])
def test_a_trial_that_has_a_checkpoint_or_is_tested_counts(tmp_path, left):
    RunFolder.open(tmp_path, CONFIG, "furnmove_sync").close()
    (tmp_path / "trials/sync-seed0" / left).mkdir(parents=True)
    with pytest.raises(UserError, match="--world furnmove-v0"):
        RunFolder.open(tmp_path, {**CONFIG, "world": "furnlift-v0"}, "furnmove_sync")


@pytest.mark.processes
def test_two_processes_never_share_a_folder_and_death_frees_it(tmp_path):
    ready, release = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        held = RunFolder.open(tmp_path, CONFIG, "furnmove_sync")
        os.write(ready[1], held.run_id[:1].encode())
        os.read(release[0], 1)
        os._exit(9)  # no clean-up, as by kill -9
    os.read(ready[0], 1)
    with pytest.raises(UserError, match=f"process {child}"):
        RunFolder.open(tmp_path, CONFIG, "furnmove_sync")
    os.write(release[1], b"x")
    os.waitpid(child, 0)
    RunFolder.open(tmp_path, CONFIG, "furnmove_sync").close()


MAIN = MainComparison("sync", "marginal", "success")
SAID, OTHER = {ANNOUNCED: [MAIN.announcement()]}, {ANNOUNCED: ["main comparison: none in this run"]}
TRAINED_NOTHING = {ANNOUNCED: None}


@pytest.mark.parametrize(
    ("sessions", "named"),
    [
        ([SAID], BEFORE),
        ([SAID, SAID, TRAINED_NOTHING], BEFORE),
        ([SAID, OTHER], UNANNOUNCED),
        ([], NOT_RECORDED),
        ([TRAINED_NOTHING], NOT_RECORDED),
    ],
)
def test_a_comparison_was_named_before_the_run_only_if_each_session_recorded_it(sessions, named):
    (found,) = with_announcement_times([MAIN], sessions)
    assert found.named == named
