"""What holds a trial up: by hand where sampling and learning take turns, and where they go on side by side."""

import dataclasses
import math

import pytest

from rl_models.rllib.workers import Workers
from rl_models.schedule import Progress
from rl_models.training.checkpoint import save_checkpoint
from tests.tune_experiments.teams import games
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.run.speed import BUSY, RUNNER_SPEED, SPEED, diagnose, examine, proposals
from tune_experiments.train import EXPERIMENT, SMOKE

ALONE = Workers(worlds_per_runner=64)


def rows(speed, runner_speed, busy, count=3):
    return [{SPEED: speed, RUNNER_SPEED: runner_speed, BUSY: busy}] * count


def test_times_of_those_who_take_turns_add_up():
    found = diagnose(rows(speed=100, runner_speed=125, busy=0.1), ALONE, takes_turns=True)
    assert (found.total, found.sampling, found.learning) == pytest.approx((10, 8, 1))
    assert found.other == pytest.approx(1)
    assert found.bottleneck == "sampling"


def test_side_by_side_the_slower_one_decides():
    workers = Workers(runners=4, worlds_per_runner=16)
    found = diagnose(rows(speed=100, runner_speed=50, busy=0.9), workers, takes_turns=False)
    assert (found.sampling, found.learning) == pytest.approx((5, 9))
    assert found.other == pytest.approx(1)
    assert found.bottleneck == "learning"


def test_runners_are_proposed_until_playing_takes_a_quarter_of_learning_and_worlds_stay_as_many():
    found = diagnose(rows(speed=100, runner_speed=125, busy=0.2), ALONE, takes_turns=True)
    (told,) = proposals(found, ALONE)
    assert "--workers.runners 4 --workers.worlds-per-runner 16" in told, "16 runners would have 4 worlds each"
    assert found.expected(runners=4, learners=1) == pytest.approx(1000 / (8 / 4 + 2))
    assert "250 env steps/s, 2.5 times" in told


def test_where_learning_takes_the_time_learners_and_a_gpu_are_proposed_with_the_machine_that_they_need():
    found = diagnose(rows(speed=100, runner_speed=10_000, busy=0.95), ALONE, takes_turns=True)
    told = "\n".join(proposals(found, ALONE))
    assert "--workers.learners 2" in told and "--workers.gpus-per-learner 1" in told
    assert "--workers.runners" not in told


@pytest.mark.parametrize(
    "row",
    [
        {SPEED: 10.0},
        {SPEED: 0, RUNNER_SPEED: 1, BUSY: 0},
        {SPEED: 1, RUNNER_SPEED: 0, BUSY: 0},
        {SPEED: math.nan, RUNNER_SPEED: 1, BUSY: 1},
        {SPEED: 1, RUNNER_SPEED: math.inf, BUSY: 1},
        {SPEED: 1, RUNNER_SPEED: 1, BUSY: math.nan},
    ],
)
def test_rows_that_lack_those_numbers_or_cannot_be_true_are_refused(row):
    with pytest.raises(UserError, match=r"metrics.jsonl"):
        diagnose([row], ALONE, takes_turns=True)


def test_the_environment_of_a_trial_without_runners_is_played_all_the_same(tmp_path):
    config = dataclasses.replace(SMOKE, env=f"{games.__name__}:Meeting", methods=("ippo",))
    state = {"experiment": EXPERIMENT.entry_point, "config": config_to_json(config), "method": "ippo", "seed": 0}
    checkpoint = save_checkpoint(tmp_path, 1, {"weights": {}}, state | {"progress": vars(Progress())})
    said = "\n".join(examine(checkpoint, [{SPEED: 10.0}], [games.__name__]))
    assert all(name in said for name in ("metrics.jsonl", "left, right", "max_cycles"))
