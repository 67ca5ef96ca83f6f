"""Rules of results: validated lines, no doubles, and intervals equal to hand numbers."""

import json
import math

import numpy as np
import pytest

from tune_experiments.results.intervals import (
    NONE,
    STUDENT,
    STUDENT_EPISODES,
    WELCH,
    WILSON,
    Interval,
    interval_over_episodes,
    interval_over_seeds,
    welch_interval,
)
from tune_experiments.results.rows import Result, read, replace_rows, write


def result(method="sync", seed=0, metric="success", value=0.5, **more) -> Result:
    return Result("furnmove_sync", "unseen rooms", method, "furnmove-v0", "test", seed, metric, value, **more)


def test_lines_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "results.jsonl"
    lines = [result(ci_low=0.4, ci_high=0.6, n_episodes=100, env_steps=5, interval=WILSON)]
    write(path, [*lines, result(seed=None, value=np.float32(0.25))])
    assert read(path) == [
        result(ci_low=0.4, ci_high=0.6, n_episodes=100, env_steps=5, interval=WILSON),
        result(seed=None, value=0.25),
    ]
    keys = "experiment table method world split seed metric value ci_low ci_high n_episodes env_steps interval"
    assert list(json.loads(path.read_text().splitlines()[0])) == [*keys.split(), "cpu_seconds", "condition", "bounds"]


def test_lines_from_before_intervals_had_names_still_load(tmp_path):
    path = tmp_path / "results.jsonl"
    write(path, [result(), result(metric="tvd")])
    old = [json.loads(line) for line in path.read_text().splitlines()]
    later = ("interval", "cpu_seconds", "condition", "bounds")
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k not in later}) + "\n" for row in old))
    assert [(line.interval, line.condition, line.bounds) for line in read(path)] == [(None, "", (None, None))] * 2


def test_a_repeated_evaluation_doubles_nothing(tmp_path):
    path = tmp_path / "results.jsonl"
    first = [result(metric="success"), result(metric="tvd")]
    other = [result(seed=1), result(method="marginal")]
    replace_rows(path, first + other)
    again = [result(metric="success", value=0.75)]
    replace_rows(path, again)
    assert read(path) == other + again


def test_infinite_results_are_refused(tmp_path):
    with pytest.raises(ValueError, match="finite"):
        write(tmp_path / "results.jsonl", [result(value=float("nan"))])


def test_interval_of_a_mean_over_episodes_is_students():
    # 1, 2, 3, 4: mean 2.5, sd sqrt(5/3), half width 3.18245 * 1.29099 / 2
    found = interval_over_episodes([1, 2, 3, 4])
    assert (found.value, found.kind) == (2.5, STUDENT_EPISODES)
    assert (found.low, found.high) == pytest.approx((2.5 - 2.05426, 2.5 + 2.05426), abs=1e-5)
    assert interval_over_episodes([3]) == Interval(3.0, None, None, NONE)
    with pytest.raises(ValueError, match="one"):
        interval_over_episodes([])


def test_interval_of_a_share_of_episodes_is_wilsons_and_never_leaves_zero_and_one():
    # 8 of 10 at z = 1.96: (.8 + z^2/20 -+ z sqrt(.8*.2/10 + z^2/400)) / (1 + z^2/10)
    found = interval_over_episodes([1] * 8 + [0] * 2, is_share=True)
    assert (found.value, found.kind) == (0.8, WILSON)
    assert (found.low, found.high) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert interval_over_episodes([True] * 100, is_share=True).high == pytest.approx(1.0)
    assert interval_over_episodes([True] * 100, is_share=True).low == pytest.approx(0.96301, abs=1e-4)


def test_a_share_is_declared_and_never_guessed_from_its_values():
    zeros_and_ones = [1.0] * 8 + [0.0] * 2
    assert interval_over_episodes(zeros_and_ones).kind == STUDENT_EPISODES
    assert interval_over_episodes([0.8, 0.7], is_share=True).kind == STUDENT_EPISODES, (
        "computed probabilities are a mean"
    )


def test_a_seeds_interval_that_no_value_can_fill_is_left_out():
    below, above = Interval(20.0, -19.2, 59.2, STUDENT_EPISODES), Interval(0.9, 0.8, 1.1, STUDENT_EPISODES)
    assert interval_over_seeds([below], (0.0, math.inf)) == Interval(20.0)
    assert interval_over_seeds([above, Interval(0.9, 0.85, 0.95, STUDENT_EPISODES)], (0.0, 1.0)).seeds[0] == Interval(
        0.9
    )
    several = interval_over_seeds([below, Interval(152.0, 88.0, 216.0, STUDENT_EPISODES)], (0.0, math.inf))
    assert several.seeds[0] == Interval(20.0)


def test_interval_over_seeds_is_students_t():
    # 0.60, 0.70, 0.85: mean 0.71667, sd 0.12583, t(2) = 4.30265
    found = interval_over_seeds([0.60, 0.70, 0.85])
    half = 4.302653 * 0.1258306 / 3**0.5
    assert found.kind == STUDENT and found.value == pytest.approx(0.7166667)
    assert (found.low, found.high) == pytest.approx((0.7166667 - half, 0.7166667 + half), abs=1e-5)
    assert interval_over_seeds([0.7]) == Interval(0.7, None, None, NONE)


@pytest.mark.parametrize(
    ("shares", "shown"),
    [((1.0, 1.0, 1.0), "each 1.000 [0.722, 1.000]"), ((0.0, 0.1, 0.9), "0.333 (0.000 to 0.900)")],
)
def test_shares_that_are_equal_or_leave_zero_and_one_show_the_range_of_their_seeds(shares, shown):
    seeds = tuple(
        interval_over_episodes([1] * round(10 * share) + [0] * (10 - round(10 * share)), True) for share in shares
    )
    found = interval_over_seeds(seeds, (0.0, 1.0))
    assert (found.low, found.high, found.kind) == (None, None, NONE)
    assert found.seeds == seeds
    assert found.text() == shown


def test_an_interval_goes_below_zero_unless_the_metric_is_declared_to_be_at_least_that():
    assert (
        interval_over_seeds([0.1, 0.2, 0.6]).kind == interval_over_seeds([0.1, 0.2, 0.6], (None, None)).kind == STUDENT
    )
    assert interval_over_seeds([0.1, 0.2, 0.6], (None, 1.0)).kind == STUDENT
    assert interval_over_seeds([0.0, 0.1, 0.9], (0.0, None)).seeds


def test_welch_interval_against_hand_numbers():
    # means 2 and 5, variances 1 and 4, n = 3 each: standard error sqrt(5/3), degrees of freedom 50/17, t = 3.2184
    found = welch_interval([1, 2, 3], [3, 5, 7])
    assert (found.value, found.kind) == (-3.0, WELCH)
    assert (found.high - found.low) / 2 == pytest.approx(3.2184 * (5 / 3) ** 0.5, rel=2e-3)
    assert welch_interval([1], [2, 3]) == Interval(-1.5)
    assert welch_interval([1, 1], [0, 0]) == Interval(1.0), "no spread gives no interval"


def test_seeds_of_one_method_that_are_equal_leave_an_interval_and_warn_of_nothing(recwarn):
    # t of one degree of freedom, 12.706, times the standard error 0.01
    found = welch_interval([1.0, 1.0], [0.98, 1.0])
    assert (found.low, found.high) == pytest.approx((0.01 - 0.12706, 0.01 + 0.12706), abs=1e-4)
    assert not recwarn.list
