"""What ends a run from outside: it says so at once, and in the end that the same command continues."""

import contextlib
import signal
from types import SimpleNamespace

import pytest

from tune_experiments.launch import launch as launching
from tune_experiments.matrix_game import EXPERIMENT
from tune_experiments.run.tuning import _failures, ends_gently

STOPS = [signal.SIGINT]


@pytest.mark.parametrize("number", STOPS)
def test_the_first_signal_is_said_at_once_and_passed_to_tune_and_the_second_ends_all(number):
    said, heard, before = [], [], signal.getsignal(number)
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.raises(KeyboardInterrupt))
        stack.enter_context(ends_gently(said.append))
        signal.signal(signal.SIGUSR1, lambda *_: heard.append("Tune"))
        signal.raise_signal(number)
        assert (said, heard) == (["stopping; the newest checkpoints are kept"], ["Tune"])
        signal.raise_signal(number)
    assert len(said) == len(heard) == 1
    assert signal.getsignal(number) is before, "what others had chosen holds again"


@pytest.mark.parametrize("number", STOPS)
def test_where_tune_does_not_run_yet_the_first_signal_ends_all(number):
    said = []
    with pytest.raises(KeyboardInterrupt), ends_gently(said.append):
        signal.raise_signal(number)
    assert said == ["stopping; the newest checkpoints are kept"]


def test_a_trial_that_has_not_reported_yet_is_told_by_the_name_of_its_folder():
    stopped, died = ({"config": None, "metrics": {}, "path": f"/tune/{name}"} for name in ("stopped", "died"))
    results = [SimpleNamespace(**stopped, error=None), SimpleNamespace(**died, error=RuntimeError("no actor"))]
    assert _failures(results) == {"died": "no actor"}


def test_whatever_is_interrupted_the_user_hears_that_the_same_command_continues(tmp_path, monkeypatch, capsys):
    def second_one(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(launching._Session, "_train", second_one)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENT.run("smoke", out=tmp_path / "run")
    assert "stopped; the same command continues from the newest checkpoints" in capsys.readouterr().out
