"""Optuna's search: judged by the mean over seeds, continued from its journal, whenever it was killed."""

import math

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from ray import tune

from tests.tune_experiments.run.bomb import BOMB
from tests.tune_experiments.search.pretended import CONFIG, SPACE, finish, request_in
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.optuna_search import JOURNAL_FILE, OptunaSearch


def search_in(folder, count=4, seeds=(0, 1), space=SPACE):
    def make_trial_request(setting, method, seed):
        return request_in(folder, setting, method, seed)

    return OptunaSearch(space, {"sync": CONFIG}, seeds, count, 0, folder / JOURNAL_FILE, make_trial_request)


def score(request):
    """The lower the rate the better, but seeds differ more than settings do."""
    return request["seed"] - math.log10(request["setting"].config.learning_rate)


def run(search, most=1000, do=score):
    """Train what it asks for, one trial at a time; (setting, seed) of each."""
    done = []
    while len(done) < most and (request := search.next_request()) is not None:
        done.append((request["setting"].number, request["seed"]))
        finish(request, do(request))
    return done


def told(folder):
    """Setting -> what the study in the journal was told, or None."""
    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL_FILE)))
    trials = optuna.load_study(study_name="sync", storage=storage).get_trials()
    return {trial.user_attrs["setting"]: trial.value for trial in trials if "setting" in trial.user_attrs}


def test_a_setting_is_judged_by_the_mean_over_its_seeds(tmp_path):
    search = search_in(tmp_path)
    assert run(search) == [(number, seed) for number in range(4) for seed in (0, 1)]
    first, *others = search.settings("sync")
    assert first.config == CONFIG
    values = {one.number: 0.5 - math.log10(one.config.learning_rate) for one in others}
    assert told(tmp_path) == pytest.approx(values)


@pytest.mark.parametrize("killed_after", [1, 3, 4, 5])
def test_a_search_that_is_killed_goes_on_as_one_that_was_not(tmp_path, killed_after):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    unbroken = search_in(whole)
    done = run(unbroken)
    before = run(search_in(broken), killed_after)
    search_in(broken).next_request()  # was handed out, and its trial was killed
    with (broken / JOURNAL_FILE).open("ab") as file:
        file.write(b'{"op_code":4,"wor')  # torn in the middle of a line
    (broken / f"{JOURNAL_FILE}.lock").symlink_to(broken / JOURNAL_FILE)
    again = search_in(broken)
    assert before + run(again) == done
    assert again.settings("sync") == unbroken.settings("sync")
    assert told(broken) == told(whole)


def test_a_score_that_was_not_told_before_a_kill_is_told_after_it(tmp_path):
    search = search_in(tmp_path, count=2, seeds=(0,))
    run(search, most=1)
    finish(search.next_request(), 0.25)
    search_in(tmp_path, count=2, seeds=(0,))
    assert told(tmp_path) == {1: 0.25}


def test_a_search_may_become_longer_and_learns_from_what_it_has(tmp_path):
    run(search_in(tmp_path, count=15, seeds=(0,)))
    search = search_in(tmp_path, count=22, seeds=(0,))
    run(search)
    rates = [math.log10(one.config.learning_rate) for one in search.settings("sync")]
    assert len(rates) == 22
    assert np.mean(rates[12:]) < np.mean(rates[1:11]), "low rates have the better scores"


def test_a_diverged_trial_is_the_worst_and_is_not_forgotten(tmp_path):
    run(search_in(tmp_path, seeds=(0,)), do=lambda request: math.nan)
    assert all(value < -1e20 for value in told(tmp_path).values())


def test_no_two_settings_are_alike_and_a_space_may_be_smaller_than_the_search(tmp_path):
    space = SearchSpace({"games": tune.choice([8, 16, 32])}, objective=SPACE.objective)
    search = search_in(tmp_path, count=9, seeds=(0,), space=space)
    assert len(run(search)) == 3
    assert sorted(one.config.games for one in search.settings("sync")) == [8, 16, 32]


@pytest.mark.parametrize("content", [BOMB + b"\n", b"5\n", b"{}\n", b'{"op_code": "x"}\n', b"a,b\n1,2\n"])
def test_what_is_no_journal_is_told(tmp_path, content):
    (tmp_path / JOURNAL_FILE).write_bytes(content)
    with pytest.raises(UserError, match=JOURNAL_FILE):
        search_in(tmp_path)
