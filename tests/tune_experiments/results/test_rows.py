"""Rules of results: validated lines, no doubles, and intervals equal to hand numbers."""

import itertools
import json

import numpy as np
import pytest

from tune_experiments.experiment.errors import UserError
from tune_experiments.results.intervals import (
    difference_over_seeds,
    interval_over_episodes,
    interval_over_seeds,
    welch_interval,
)
from tune_experiments.results.rows import Result, append, read, replace_rows


def result(method="sync", seed=0, metric="success", value=0.5, **more) -> Result:
    return Result("furnmove_sync", "unseen rooms", method, "furnmove-v0", "test", seed, metric, value, **more)


def test_lines_come_back_as_they_were_appended(tmp_path):
    path = tmp_path / "results.jsonl"
    append(path, [result(ci_low=0.4, ci_high=0.6, n_episodes=100, env_steps=5)])
    append(path, [result(seed=None, value=np.float32(0.25))])
    assert read(path) == [result(ci_low=0.4, ci_high=0.6, n_episodes=100, env_steps=5), result(seed=None, value=0.25)]
    keys = "experiment table method world split seed metric value ci_low ci_high n_episodes env_steps"
    assert list(json.loads(path.read_text().splitlines()[0])) == keys.split()


def test_a_repeated_evaluation_doubles_nothing(tmp_path):
    path = tmp_path / "results.jsonl"
    first = [result(metric="success"), result(metric="tvd")]
    other = [result(seed=1), result(method="marginal")]
    replace_rows(path, first + other)
    again = [result(metric="success", value=0.75)]
    replace_rows(path, again)
    assert read(path) == other + again


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is no JSON"),
        ("[]", "line 2 must be an object"),
        ('{"metric": "success"}', "line 2 does not fit Result (missing ci_high"),
        (None, "line 2.value must be a number, not 'high'"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, said):
    path = tmp_path / "results.jsonl"
    append(path, [result()])
    bad = json.dumps({**json.loads(path.read_text()), "value": "high"}) if line is None else line
    path.write_text(path.read_text() + bad + "\n")
    with pytest.raises(UserError) as raised:
        read(path)
    assert said in str(raised.value)


def test_missing_results_and_infinite_ones_are_refused(tmp_path):
    with pytest.raises(UserError, match="run the experiment first"):
        read(tmp_path / "results.jsonl")
    with pytest.raises(ValueError, match="finite"):
        append(tmp_path / "results.jsonl", [result(value=float("nan"))])


def test_interval_over_episodes_is_the_papers_formula():
    # 1, 2, 3, 4: mean 2.5, sd sqrt(5/3), half width 1.96 * 1.29099 / 2
    value, low, high = interval_over_episodes([1, 2, 3, 4])
    assert value == 2.5
    assert (low, high) == pytest.approx((2.5 - 1.265174, 2.5 + 1.265174), abs=1e-5)
    assert interval_over_episodes([3]) == (3.0, None, None)
    with pytest.raises(ValueError, match="at least one"):
        interval_over_episodes([])


def test_interval_of_a_share_of_episodes_is_wilsons_and_never_leaves_zero_and_one():
    # 8 of 10 at z = 1.96: (.8 + z^2/20 -+ z sqrt(.8*.2/10 + z^2/400)) / (1 + z^2/10)
    value, low, high = interval_over_episodes([1] * 8 + [0] * 2)
    assert value == 0.8
    assert (low, high) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert interval_over_episodes([True] * 100).high == pytest.approx(1.0)
    assert interval_over_episodes([True] * 100).low == pytest.approx(0.96301, abs=1e-4)


def test_interval_over_seeds_is_the_bootstrap_of_the_mean():
    seeds = [0.60, 0.70, 0.85]
    value, low, high = interval_over_seeds(seeds)
    means = sorted(np.mean(draw) for draw in itertools.product(seeds, repeat=3))
    # All 27 resamples by hand: 1/27 > 2.5 % of them are the minimum and the maximum.
    assert (value, low, high) == pytest.approx((np.mean(seeds), means[0], means[-1]))
    assert interval_over_seeds(seeds) == (value, low, high), "the same on every call"
    assert interval_over_seeds([0.7]) == (0.7, None, None)
    assert interval_over_seeds([0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_difference_over_seeds_against_the_exact_extremes():
    value, low, high = difference_over_seeds([0.7, 0.8], [0.1, 0.2])
    assert value == pytest.approx(0.6)
    assert (low, high) == pytest.approx((0.5, 0.7))
    assert difference_over_seeds([0.7], [0.1, 0.2])[1:] == (None, None)


def test_welch_interval_against_hand_numbers():
    # means 2 and 5, variances 1 and 4, n = 3 each: standard error sqrt(5/3), degrees of freedom 50/17, t = 3.2184
    value, low, high = welch_interval([1, 2, 3], [3, 5, 7])
    assert value == -3.0
    assert (high - low) / 2 == pytest.approx(3.2184 * (5 / 3) ** 0.5, rel=2e-3)
    assert welch_interval([1], [2, 3]) == (-1.5, None, None)
