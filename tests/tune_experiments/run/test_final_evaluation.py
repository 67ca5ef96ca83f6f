"""What a finished trial leaves: results that can be read, and data for figures."""

import math
from types import MappingProxyType

import numpy as np
import pytest

from rl_envs.core.metrics import COUNT, SHARE
from tests.tune_experiments.run.stages import Walkers
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.results.intervals import STUDENT_EPISODES, WILSON
from tune_experiments.results.rows import Result
from tune_experiments.run.final_evaluation import (
    evaluate_all,
    figure_data_files,
    make_results,
    read_test_results,
    save_figure_data,
    write_test_results,
)


def test_data_for_figures_are_found_by_the_names_of_their_environments(tmp_path):
    save_figure_data(tmp_path, Tested("calm"), {"success": np.ones(2), "_joint_policy": np.eye(2)})
    save_figure_data(tmp_path, Tested("silent"), {"success": np.ones(2)})
    save_figure_data(tmp_path, Tested("windy"), {"_joint_policy": np.eye(3)})
    shapes = {name: np.load(path)["_joint_policy"].shape for name, path in figure_data_files(tmp_path).items()}
    assert shapes == {"calm": (2, 2), "windy": (3, 3)}


def test_a_result_that_is_no_number_is_refused_where_it_was_measured_and_leaves_no_file(tmp_path):
    rows = [Result("x", "A", "sync", "calm", "test", 3, "steps_to_success", value) for value in (1.0, math.nan)]
    with pytest.raises(UserError, match=r"sync, seed 3.*nan.*steps_to_success.*calm"):
        write_test_results(tmp_path, rows)
    assert read_test_results(tmp_path) is None
    write_test_results(tmp_path, rows[:1])
    assert read_test_results(tmp_path) == rows[:1]


class Measured(Walkers):
    """Declares two of its metrics, and one by a pattern."""

    metric_ranges = MappingProxyType({"won": SHARE, "soups": COUNT, "won_of_*": SHARE, "won_of_nobody": COUNT})


def test_method_condition_and_world_are_three_fields_and_another_player_has_no_seed():
    numbers = {"won": np.array([0.0, 1.0, 1.0, 1.0])}
    tests = {"calm": numbers, Tested("calm", "in silence"): numbers, Tested("calm", method=RANDOM): numbers}
    found = [
        row
        for tested, episodes in evaluate_all({"": lambda policy: tests, "a": lambda policy: tests}, "sync", None)
        for row in make_results(Measured(None), "sync", 3, tested, episodes, 100, 7.0)
    ]
    assert [(row.method, row.world, row.condition, row.seed, row.env_steps, row.cpu_seconds) for row in found] == [
        ("sync", "calm", "", 3, 100, 7.0),
        ("sync", "calm", "in silence", 3, 100, 7.0),
        ("random", "calm", "", None, None, None),
        ("sync", "calm", "after a", 3, 100, 7.0),
        ("sync", "calm", "in silence after a", 3, 100, 7.0),
        ("random", "calm", "after a", None, None, None),
    ]
    assert [row.condition_and_stage for row in found[3:5]] == [("", "a"), ("in silence", "a")]
    assert found[1].condition_and_stage == ("in silence", "")


def test_a_method_that_is_random_play_itself_is_not_tested_against_itself():
    tests = {"calm": {}, Tested("calm", method=RANDOM): {}}
    assert [tested for tested, _ in evaluate_all({"": lambda policy: tests}, RANDOM, None)] == [Tested("calm")]


def test_rows_carry_the_range_that_is_declared_and_none_where_nothing_is():
    episodes = {name: np.array([0.0, 1.0, 1.0]) for name in ("won", "soups", "score")}
    rows = {row.metric: row for row in make_results(Measured(None), "sync", 0, Tested("calm"), episodes, 1)}
    assert {name: (row.bounds, row.interval) for name, row in rows.items()} == {
        "won": ((0.0, 1.0), WILSON),
        "soups": ((0.0, None), STUDENT_EPISODES),
        "score": ((None, None), STUDENT_EPISODES),
    }
