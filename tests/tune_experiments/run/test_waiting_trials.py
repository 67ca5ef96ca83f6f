"""A trial that waits for a place says so now and then: what it needs, what there is, and how to mend it."""

import re
import threading

import pytest

from tests.patience import PATIENCE_SECONDS
from tune_experiments.launch.experiment import main
from tune_experiments.matrix_game import EXPERIMENT
from tune_experiments.run import tune_display
from tune_experiments.run.tune_display import ClusterCapacity, PendingTrials

FULL = ClusterCapacity({"CPU": 4.0, "GPU": 1.0}, {"CPU": 1.0}, is_short=True)
NEEDED = {"CPU": 3.0, "GPU": 1.0}


class Watch:
    """PendingTrials of three minutes by a clock that is set by hand."""

    def __init__(self, capacity=FULL):
        self.now, self.said, self.asked = 0.0, [], 0
        self._capacity = capacity
        self.pending = PendingTrials(lambda *words: self.said.append(words), self._ask, 180.0, lambda: self.now)

    def _ask(self):
        self.asked += 1
        return self._capacity

    def look(self, minute, **needed):
        self.now = 60.0 * minute
        self.pending.look(needed)
        return self.said[-1] if self.said else None


def test_who_waits_says_after_a_while_what_for_and_how_to_mend_it():
    watch = Watch()
    assert watch.look(0, first=NEEDED) is None
    assert watch.look(2.9, first=NEEDED) is None
    assert watch.asked == 0, "the cluster is not asked at every look"
    trial, sentence = watch.look(3, first=NEEDED, second=NEEDED)
    assert trial == "first"
    assert "has waited 3 minutes for 3 CPUs and 1 GPU, and" in sentence
    assert "1 of its 4 CPUs free and 0 of its 1 GPU free" in sentence
    assert "cluster.submit list, stop JOB" in sentence
    watch.look(5.9, first=NEEDED, second=NEEDED)
    assert len(watch.said) == 1
    assert (
        "has waited 6 minutes for 3 CPUs and 1 GPU, as 1 more trial does, and"
        in watch.look(6, first=NEEDED, second=NEEDED)[1]
    )


def test_who_has_run_meanwhile_begins_to_wait_anew():
    watch = Watch()
    watch.look(0, first=NEEDED)
    watch.look(2)
    watch.look(2.5, first=NEEDED)
    assert watch.look(5, first=NEEDED) is None
    assert watch.look(5.5, first=NEEDED) is not None


def test_who_has_a_place_and_starts_slowly_says_nothing():
    watch = Watch(ClusterCapacity({"CPU": 4.0}, {"CPU": 0.0}, is_short=False))
    watch.look(0, first=NEEDED)
    assert watch.look(30, first=NEEDED) is None
    assert watch.asked == 1


@pytest.mark.slow
def test_a_trial_of_a_full_cluster_says_so_and_begins_when_there_is_room(ray_session, tmp_path, monkeypatch, capsys):
    import ray
    from ray.util import placement_group, remove_placement_group

    others = placement_group([{"CPU": 4}])  # another job
    ray.get(others.ready())
    has_said = threading.Event()

    class Soon(PendingTrials):
        def __init__(self, say, capacity):
            def aloud(trial, sentence):
                say(trial, sentence)
                has_said.set()

            super().__init__(aloud, capacity, seconds=0.0)

    def leave():
        has_said.wait(PATIENCE_SECONDS)
        remove_placement_group(others)

    monkeypatch.setattr(tune_display, "PendingTrials", Soon)
    leaving = threading.Thread(target=leave)
    leaving.start()
    flags = ["--preset", "smoke", "--methods", "sync", "--seeds", "0", "--budget-env-steps", "1280", "--games", "32"]
    assert main(EXPERIMENT, [*flags, "--out", str(tmp_path / "out")]) == 0
    leaving.join()
    printed = capsys.readouterr().out
    assert re.search(r"sync-seed0: has waited \d+ minutes for 1 CPU, and the cluster has 0 of its 4 CPUs free", printed)
