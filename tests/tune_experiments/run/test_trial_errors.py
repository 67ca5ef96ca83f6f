"""Errors of a trial: those that would come again are told alone, the others let it start again."""

from unittest import mock

import pytest
from ray.exceptions import RayTaskError

from rl_envs.core.errors import CustomEnvError
from rl_models.llm.base_model import LanguageModelError
from rl_models.training.checkpoint import CheckpointError
from tune_experiments.core.errors import StoreUnavailableError, UserError
from tune_experiments.results.trial_log import REFUSED
from tune_experiments.run import tuning
from tune_experiments.run.trial_errors import ERROR_FILE, find_permanent_failure


def raised(error, cause=None):
    try:
        raise error from cause
    except Exception as caught:
        return caught


def of_another_process(error):
    """The error as Ray raises it: of both types, and its text is a traceback."""
    return RayTaskError("play", "Traceback\n  File\n", raised(error)).as_instanceof_cause()


TOLD = [UserError("write --x 3"), CustomEnvError("write --x 3"), LanguageModelError("write\n--x 3")]


@pytest.mark.parametrize("error", TOLD)
@pytest.mark.parametrize("how", [raised, of_another_process, lambda error: raised(RuntimeError("dead"), error)])
def test_a_sentence_is_told_alone_wherever_it_was_raised(tmp_path, error, how):
    assert find_permanent_failure(how(error), tmp_path) == "write --x 3"
    assert not (tmp_path / ERROR_FILE).exists()


@pytest.mark.parametrize("how", [raised, of_another_process])
def test_an_error_of_code_is_one_sentence_with_its_place_and_keeps_its_traceback(tmp_path, how):
    said = find_permanent_failure(how(IndexError("7 is too large\nand more")), tmp_path)
    assert "IndexError: 7 is too large" in said and "test_trial_errors.py" in said and "\n" not in said
    assert str(tmp_path / ERROR_FILE) in said
    assert "IndexError" in (tmp_path / ERROR_FILE).read_text()


def test_the_traceback_of_a_trial_in_a_store_lies_there(tmp_path):
    uri = f"file://{tmp_path}/trial"
    assert f"{uri}/{ERROR_FILE}" in find_permanent_failure(raised(IndexError("7")), tmp_path / "temporary", uri)
    assert "IndexError" in (tmp_path / "trial" / ERROR_FILE).read_text()


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailableError("away"),
        CheckpointError("the disk is full"),
        OSError("the disk is full"),
        RuntimeError("an actor died"),
    ],
)
def test_what_may_pass_is_tried_again(tmp_path, error):
    assert find_permanent_failure(raised(error), tmp_path) is None


@pytest.mark.parametrize("error", [UserError("write --x 3"), ValueError("odd"), OSError("away")])
def test_tune_is_not_let_try_again_what_would_come_again(tmp_path, monkeypatch, error):
    from ray import tune

    reports = []
    monkeypatch.setattr(tuning, "train_request", mock.Mock(side_effect=error))
    monkeypatch.setattr(tune, "report", reports.append)
    parameters = {"request": {"folder": str(tmp_path)}}
    if isinstance(error, OSError):
        with pytest.raises(OSError, match="away"):
            tuning.train_trial(parameters)
        return
    tuning.train_trial(parameters)
    (report,) = reports
    assert str(error) in report[REFUSED]
