"""CPU-seconds of a trial's training: what is counted, what is left out, and what becomes of them after a kill."""

from types import SimpleNamespace

import numpy as np
import pytest

from rl_models.training.algorithm import OTHERS_CPU_SECONDS
from rl_models.training.local_algorithm import LocalAlgorithm
from tests.tune_experiments.run.stages import BATCH, Config, experiment, make_local, plan
from tune_experiments.results.trial_log import CPU_SECONDS, read_metrics
from tune_experiments.run import stage_training
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial

VALIDATION, LEARNING, RUNNERS = 100.0, 1.0, 10.0
"""CPU-seconds of a validation, of an update in the trial's own process, and of its runners beside it."""


@pytest.fixture
def clock(monkeypatch):
    """CPU time of this process, all of it in one thread."""
    clock = SimpleNamespace(now=0.0)
    clock.process_time = clock.thread_time = clock.monotonic = lambda: clock.now
    monkeypatch.setattr(stage_training, "time", clock)
    return clock


def run(clock, folder, updates, **changes):
    """Train; each update and each validation take their time. The numbers of the log."""

    def validate(policy):
        clock.now += VALIDATION
        return {"sum": np.zeros(2)}

    def learn(algorithm):
        clock.now += LEARNING
        return LocalAlgorithm.train(algorithm) | {OTHERS_CPU_SECONDS: RUNNERS}

    def make_algorithm(chosen):
        algorithm = make_local(chosen)
        algorithm.train = lambda: learn(algorithm)
        return algorithm

    declared = plan(
        budget_env_steps=updates * BATCH,
        validate_every_env_steps=BATCH,
        validate=validate,
        make_algorithm=make_algorithm,
        **{"checkpoint_every_env_steps": BATCH} | changes,
    )
    Trial(experiment(declared, "calm"), Config(), "walkers", 0, folder).run(lambda row: None)
    return [row.get(CPU_SECONDS) for row in read_metrics(folder / "metrics.jsonl")]


def test_training_counts_in_all_processes_and_validation_does_not(clock, tmp_path):
    assert run(clock, tmp_path, updates=3) == [(LEARNING + RUNNERS) * number for number in (1, 2, 3)]
    assert {line.cpu_seconds for line in read_test_results(tmp_path)} == {3 * (LEARNING + RUNNERS)}
    assert not any(OTHERS_CPU_SECONDS in row for row in read_metrics(tmp_path / "metrics.jsonl"))


def test_weights_that_validation_chose_have_the_cpu_seconds_of_their_own_row(clock, tmp_path):
    run(clock, tmp_path, updates=3, chosen_by="sum")  # all are as good, so the first stay
    assert {(line.env_steps, line.cpu_seconds) for line in read_test_results(tmp_path)} == {(BATCH, LEARNING + RUNNERS)}


def test_a_continued_trial_counts_on_from_its_checkpoint(clock, tmp_path):
    run(clock, tmp_path, updates=2)
    (tmp_path / "test_results.json").unlink()
    clock.now = 0.0  # another process
    assert run(clock, tmp_path, updates=4) == [(LEARNING + RUNNERS) * number for number in (1, 2, 3, 4)]
