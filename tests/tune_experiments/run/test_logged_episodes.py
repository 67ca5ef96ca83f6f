"""Rows of a log hold the means of all episodes since the row before; they reach Tune a few a minute, and in whole."""

import contextlib
import logging
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from rl_models.training.algorithm import ENDED_EPISODES
from rl_models.training.local_algorithm import LocalAlgorithm
from tests.tune_experiments.run.stages import BATCH, Config, experiment, make_local, plan
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run import reports, stage_training
from tune_experiments.run.reports import PacedReport, reporting_warnings
from tune_experiments.run.trial import Trial


class QueuesTwice(LocalAlgorithm):
    """Every third call of `train` advances training, as IMPALA's; each has seen as many episodes as its number."""

    calls = 0

    def train(self):
        self.calls += 1
        row = super().train() if self.calls % 3 == 0 else {}
        row = {name: value for name, value in row.items() if not name.startswith("episode/")}
        if self.calls % 3 == 1 and self.calls > 3:
            return row
        return row | {"episode/return": 10.0 * self.calls, ENDED_EPISODES: float(self.calls)}


def test_means_are_over_the_episodes_of_all_calls_since_the_last_row(tmp_path):
    declared = plan(budget_env_steps=2 * BATCH, make_algorithm=lambda chosen: make_local(chosen, QueuesTwice))
    Trial(experiment(declared, "calm"), Config(), "walkers", 0, tmp_path).run(lambda row: None)
    rows = read_metrics(tmp_path / "metrics.jsonl")
    wanted = [10 * (1 + 4 + 9) / (1 + 2 + 3), 10 * (25 + 36) / (5 + 6)]
    assert [row["episode/return"] for row in rows] == pytest.approx(wanted)
    assert not any(ENDED_EPISODES in row for row in rows)


@pytest.mark.parametrize(("validating", "training", "fails"), [(3600.0, 0.0, False), (0.0, 2000.0, True)])
def test_a_long_validation_is_no_wait_for_an_update(validating, training, fails, tmp_path, monkeypatch):
    now = [0.0]

    class Timed(QueuesTwice):
        def train(self):
            now[0] += training
            return super().train()

    def validate(policy):
        now[0] += validating
        return {"sum": np.zeros(1)}

    clock = SimpleNamespace(monotonic=lambda: now[0], process_time=time.process_time, thread_time=time.thread_time)
    monkeypatch.setattr(stage_training, "time", clock)
    often = {"validate": validate, "validate_every_env_steps": BATCH}
    declared = plan(make_algorithm=lambda chosen: make_local(chosen, Timed), **often)
    with pytest.raises(RuntimeError, match="no update") if fails else contextlib.nullcontext():
        Trial(experiment(declared, "calm"), Config(), "walkers", 0, tmp_path).run(lambda row: None)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_rows_in_between_go_along_with_the_next_one_and_the_last_at_the_end():
    clock, sent = Clock(), []
    with PacedReport(sent.append, seconds=5, clock=clock) as report:
        report({"env_steps": 1})
        assert sent == [{"env_steps": 1}], "the first one at once"
        for second in range(1, 5):
            clock.now = 100 + second
            report({"env_steps": 1 + second} | ({"valid/success": 0.5} if second == 2 else {}))
        assert len(sent) == 1
        clock.now = 105
        report({"env_steps": 6})
        assert sent[1:] == [{"env_steps": 6, "valid/success": 0.5}]
        report({"env_steps": 7})
    assert sent[2:] == [{"env_steps": 7}]


def test_a_sentence_is_said_at_once_and_once():
    sent = []
    with PacedReport(sent.append, clock=Clock()) as report:
        report({"env_steps": 1})
        report({"notice": "the disk is full"})
        report({"env_steps": 2})
    assert sent == [{"env_steps": 1}, {"notice": "the disk is full"}, {"env_steps": 2}]


def test_nothing_is_reported_of_a_trial_that_fails():
    sent = []
    with pytest.raises(ArithmeticError), PacedReport(sent.append, clock=Clock()) as report:
        report({"env_steps": 1})
        report({"env_steps": 2})
        raise ArithmeticError
    assert sent == [{"env_steps": 1}]


def test_each_warning_of_this_project_is_reported_once_and_one_of_a_library_is_not():
    rows = []
    with pytest.warns(UserWarning, match="theirs"), reporting_warnings(rows.append):
        for _ in range(2):
            logging.getLogger("rl_models.llm").warning("ours of a log")
            warnings.warn_explicit("ours", UserWarning, reports.__file__, 1)
            warnings.warn_explicit("theirs", UserWarning, pytest.__file__, 1)
    logging.getLogger("rl_models.llm").warning("after the trial")
    assert [row["notice"] for row in rows] == ["ours of a log", "ours"]
