"""A trial that waits for a place says so now and then: what it needs, what there is, and how to fix it."""

import re
import threading

import pytest

from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.launch.experiment import main
from tune_experiments.matrix_game import EXPERIMENT
from tune_experiments.run import tune_display
from tune_experiments.run.tune_display import PendingTrials

NEEDED = {"CPU": 3.0, "GPU": 1.0}


def test_a_waiting_trial_says_now_and_then_what_for_unless_it_ran_or_has_its_place(monkeypatch):
    asked, answer = [], ({"CPU": 4.0, "GPU": 1.0}, {"CPU": 1.0})
    monkeypatch.setattr(tune_display, "missing_capacity", lambda: asked.append(answer) or answer)
    pending = PendingTrials()
    for minute, needed in ((0, {"first": NEEDED}), (2, {}), (2.5, {"first": NEEDED}), (5, {"first": NEEDED})):
        assert pending.poll(needed, 60 * minute) is None, "it has run meanwhile"
    assert asked == [], "the cluster is not asked at every look"
    trial, sentence = pending.poll({"first": NEEDED, "second": NEEDED}, 5.5 * 60)
    assert trial == "first"
    for said in ("3 minutes", "3 CPU and 1 GPU", "1 of its 4 CPU free and 0 of its 1 GPU free"):
        assert said in sentence
    assert pending.poll({"first": NEEDED, "second": NEEDED}, 8.4 * 60) is None
    _, sentence = pending.poll({"first": NEEDED, "second": NEEDED}, 8.5 * 60)
    assert "6 minutes" in sentence and "1 others" in sentence
    monkeypatch.setattr(tune_display, "missing_capacity", lambda: None)
    assert pending.poll({"first": NEEDED}, 60 * 60) is None, "it has its place and starts slowly"


@pytest.mark.slow
def test_a_trial_of_a_full_cluster_says_so_and_begins_when_there_is_room(ray_session, tmp_path, monkeypatch, capsys):
    import ray
    from ray.util import placement_group, remove_placement_group

    others = placement_group([{"CPU": 4}])  # another job
    ray.get(others.ready())
    has_said, poll = threading.Event(), PendingTrials.poll

    def polls(self, needed, now):
        found = poll(self, needed, now)
        if found is not None:
            has_said.set()
        return found

    def leave():
        has_said.wait(TIMEOUT_SECONDS)
        remove_placement_group(others)

    monkeypatch.setattr(tune_display, "WAITING_SECONDS", 0.0)
    monkeypatch.setattr(PendingTrials, "poll", polls)
    leaving = threading.Thread(target=leave)
    leaving.start()
    flags = ["--preset", "smoke", "--methods", "sync", "--seeds", "0", "--budget-env-steps", "1280", "--games", "32"]
    assert main(EXPERIMENT, [*flags, "--out", str(tmp_path / "out")]) == 0
    leaving.join()
    printed = capsys.readouterr().out
    assert re.search(r"sync-seed0: has waited \d+ minutes for 1 CPU, and the cluster has 0 of its 4 CPU free", printed)
