"""Rows reach Tune a few a minute, and none of what they say is lost."""

import logging
import warnings

import pytest

from tune_experiments.run import reports
from tune_experiments.run.reports import PacedReport, reporting_warnings


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
