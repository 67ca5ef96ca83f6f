"""A trial whose updates are skipped: what its log, line, table and doctor say, and the sentence with which it fails."""

import dataclasses
import math
import re

import numpy as np
import pytest

from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.workers import Workers
from tests.rl_models.training.not_finite import NotFinite
from tests.tune_experiments.run.stages import BATCH, Config, experiment, plan
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import make_team_algorithm
from tune_experiments.results import rows as result_rows
from tune_experiments.results.tables import make_table
from tune_experiments.results.trial_log import (
    DIVERGED,
    DIVERGED_FILE,
    OPTIMISER_STEPS,
    SKIPPED_COUNT,
    find_failure,
    read_metrics,
    score,
)
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.run_folder import TEST_RESULTS_FILE
from tune_experiments.run.stage_training import DivergedError
from tune_experiments.run.trial import Trial
from tune_experiments.run.trial_errors import ERROR_FILE

WINDOW, SHARE = 20, "learner/skipped_updates"


def trained(folder, declared):
    """Run a trial; its log."""
    Trial(experiment(declared, "calm"), Config(), "walkers", 0, folder).run(lambda row: None)
    return read_metrics(folder / "metrics.jsonl")


def declared(begins, ends=10**9, updates=30, minibatches=2, **changes):
    """Plan of so many updates of two minibatches, whose losses are not finite between two of them."""
    objective = Ppo(num_epochs=1, num_minibatches=minibatches, extra_losses=(NotFinite(begins * BATCH, ends * BATCH),))
    return plan(budget_env_steps=updates * BATCH, objective=objective, **changes)


def test_a_trial_fails_once_more_than_half_of_its_last_updates_were_skipped(tmp_path):
    with pytest.raises(UserError) as refused:
        trained(tmp_path, declared(begins=6))
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [row[SKIPPED_COUNT] for row in rows] == [0, 0, 0, 0, 0, 2, 4, 6, 8, 10, 12]
    assert rows[-1][SHARE] == pytest.approx(12 / WINDOW)
    said = str(refused.value)
    assert "12 of" in said and f"env step {5 * BATCH} " in said and "learning-rate" in said
    assert read_test_results(tmp_path) is None


def test_a_trial_of_fewer_updates_than_the_window_fails_at_its_end(tmp_path):
    with pytest.raises(UserError, match=r"\b4\b.*\b6\b"):
        trained(tmp_path, declared(begins=2, updates=3))


def test_a_trial_of_a_search_that_diverges_has_finished_and_says_so(tmp_path):
    said = []
    Trial(experiment(declared(begins=6), "calm"), Config(), "walkers", 0, tmp_path, is_tested=False).run(said.append)
    assert read_test_results(tmp_path) == [] and math.isnan(score(tmp_path, "valid/sum"))
    assert said[-1]["notice"].startswith(DIVERGED)


@pytest.mark.parametrize(
    ("begins", "validation", "wanted"), [(10, 1, ValueError), (0, 1, ValueError), (0, 2, DivergedError)]
)
def test_an_error_counts_as_divergence_only_once_several_updates_in_a_row_were_skipped(
    tmp_path, begins, validation, wanted
):
    left = [validation]

    def validate(policy):
        left[0] -= 1
        if not left[0]:
            raise ValueError("no kitchen")
        return {"sum": np.zeros(2)}

    one = experiment(declared(begins=begins, validate=validate), "calm")
    with pytest.raises(wanted, match="no kitchen") as raised:
        Trial(one, Config(), "walkers", 0, tmp_path).run(lambda row: None)
    assert type(raised.value) is wanted


def test_a_trial_of_a_search_that_goes_on_after_it_diverged_is_judged_by_its_score(tmp_path):
    def trial(begins):
        return Trial(experiment(declared(begins=begins), "calm"), Config(), "walkers", 0, tmp_path, is_tested=False)

    trial(begins=6).run(lambda row: None)
    (tmp_path / TEST_RESULTS_FILE).unlink()
    (tmp_path / ERROR_FILE).write_text("Traceback")
    trial(begins=10**6).run(lambda row: None)
    left = [(tmp_path / name).read_text() for name in (DIVERGED_FILE, ERROR_FILE)]
    assert left == ["", ""], "emptied, since a store keeps what is deleted here"
    assert math.isfinite(score(tmp_path, "valid/sum"))


def test_a_trial_that_recovers_goes_on_and_its_results_say_the_share(tmp_path):
    rows = trained(tmp_path, declared(begins=3, ends=8, updates=20))
    assert (rows[-1][SKIPPED_COUNT], rows[-1][OPTIMISER_STEPS]) == (10, 40)
    found = read_test_results(tmp_path)
    assert {line.skipped_updates for line in found} == {0.25}
    result_rows.write(tmp_path / "results.jsonl", found)
    read = result_rows.read(tmp_path / "results.jsonl")
    assert "25% of walkers" in make_table(read, found[0].table, ("success",)).caption


def test_a_part_of_a_search_is_judged_by_its_score(tmp_path):
    one = declared(begins=0)
    Trial(experiment(one, "calm"), Config(), "walkers", 0, tmp_path).run(lambda row: None, until_env_steps=20 * BATCH)
    assert read_metrics(tmp_path / "metrics.jsonl")[-1][SHARE] == 1.0


@pytest.mark.parametrize(
    ("counts", "begins"), [([0, 2, 4, 6], 1), ([2, 2, 4, 4], 2), ([3, 6, 9], 0), ([11], 0), ([5, 5, 5, 16], 3)]
)
def test_it_is_said_since_when_updates_are_skipped(counts, begins):
    rows = [
        {"env_steps": number, OPTIMISER_STEPS: 20 * number, SKIPPED_COUNT: count, SHARE: 0.55}
        for number, count in enumerate(counts, start=1)
    ]
    said = find_failure(rows, stage_updates=60, is_last=False)
    assert re.search(r"since env step (\d+) ", said)[1] == str(begins)


def test_half_of_the_last_updates_is_not_more_than_half():
    row = {"env_steps": 1, OPTIMISER_STEPS: 40, SKIPPED_COUNT: 10, SHARE: 0.5}
    assert find_failure([row], stage_updates=40, is_last=True) is None
    assert find_failure([{"env_steps": 1}], stage_updates=40, is_last=True) is None


def test_a_supervised_stage_whose_loss_is_not_finite_fails():
    said = find_failure([{"env_steps": 7, "cloning/loss": float("nan")}], stage_updates=1, is_last=False)
    assert "cloning/loss" in said and "7" in said
    row = {"env_steps": 7, "distillation/loss": 1.0, "distillation/held_out_loss": float("nan")}
    assert find_failure([row], stage_updates=1, is_last=False) is None, "nothing was held out"


@pytest.mark.slow
def test_so_it_is_with_rllibs_learners(ray_session, tmp_path):
    one = declared(begins=6, make_algorithm=make_team_algorithm)
    workers = Workers(worlds_per_runner=4, fragment_length=5, learners=2)
    with pytest.raises(UserError, match=r"\b12\b.*\b20\b"):
        trained(tmp_path, dataclasses.replace(one, workers=workers))
    assert [row[SKIPPED_COUNT] for row in read_metrics(tmp_path / "metrics.jsonl")][-2:] == [10, 12]
