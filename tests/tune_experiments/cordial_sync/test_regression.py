"""Logistic regression: known slopes, another minimiser, data without finite slopes, dependent steps."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tune_experiments.cordial_sync.communication import NotIdentified, fit

SLOPES = np.array([2.0, -1.0, 0.5])


def simulated(rows, slopes=SLOPES, seed=0, rows_of_an_episode=20):
    random = np.random.default_rng(seed)
    columns = random.uniform(0, 1, (rows, len(slopes)))
    outcome = random.random(rows) < 1 / (1 + np.exp(-(columns @ slopes - 0.4)))
    return columns, outcome, np.arange(rows) // rows_of_an_episode


def test_known_slopes_are_found_with_intervals_as_wide_as_theory_says():
    found = fit(*simulated(20_000), draws=200)
    errors = (found.high - found.low) / 3.92
    assert (abs(found.slopes - SLOPES) < 3.5 * errors).all()
    columns, *_ = simulated(20_000)
    probability = 1 / (1 + np.exp(-(columns @ SLOPES - 0.4)))
    design = np.concatenate([np.ones((len(columns), 1)), columns], axis=1)
    information = design.T @ (design * (probability * (1 - probability))[:, None])
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(information)))[1:], rtol=0.25)


def test_slopes_are_those_of_another_minimiser_also_with_a_product():
    columns, outcome, episode = simulated(3_000)
    columns = np.concatenate([columns[:, :2] * 0.01 + 0.5, (columns[:, :1] * 0.01 + 0.5) * (columns[:, 1:2] + 0.5)], 1)

    def loss(weights):
        line = weights[0] + columns @ weights[1:]
        return (np.logaddexp(0, line) - outcome * line).mean()

    def slope(weights):
        line = weights[0] + columns @ weights[1:]
        error = 1 / (1 + np.exp(-line)) - outcome
        return np.concatenate([[error.mean()], (columns * error[:, None]).mean(0)])

    other = minimize(loss, np.zeros(4), jac=slope, method="trust-constr", options={"maxiter": 5_000, "gtol": 1e-12})
    ours = fit(columns, outcome, episode, draws=3)
    line_ours, line_other = columns @ ours.slopes, columns @ other.x[1:]
    np.testing.assert_allclose(line_ours - line_ours.mean(), line_other - line_other.mean(), atol=2e-2)
    share = outcome.mean()
    of_a_constant = share * np.log(share) + (1 - share) * np.log(1 - share)
    assert ours.mcfadden == pytest.approx(1 + loss(other.x) / of_a_constant, rel=1e-3)


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        (np.full((100, 1), 0.5), np.arange(100) % 2 == 0),
        (np.linspace(0, 1, 100)[:, None], np.ones(100, bool)),
        (np.linspace(0, 1, 100)[:, None], np.arange(100) >= 50),
        (np.repeat([0.0, 1.0], 50)[:, None], np.arange(100) >= 60),
        (np.tile(np.linspace(0, 1, 100)[:, None], 2), np.arange(100) % 3 == 0),
    ],
    ids=["stuck", "always", "separable", "nearly separable", "same"],
)
def test_what_has_no_finite_slopes_is_said_and_not_printed_as_a_huge_number(columns, outcome):
    with pytest.raises(NotIdentified):
        fit(columns, outcome, np.arange(100), draws=20)


def test_a_fit_that_most_draws_of_episodes_lose_is_not_identified():
    random = np.random.default_rng(0)
    columns = random.uniform(0, 1, (60, 1))
    outcome = np.zeros(60, bool)
    outcome[:2] = True  # of one episode: a third of the draws has no such row
    with pytest.raises(NotIdentified, match="draws"):
        fit(columns, outcome, np.arange(60) // 3, draws=200)


def test_steps_that_depend_on_each_other_widen_intervals():
    random = np.random.default_rng(1)
    weights = np.repeat(random.uniform(0, 1, 200), 30)
    outcome = np.repeat(random.random(200) < 0.5, 30)
    outcome = outcome ^ (random.random(6_000) < 0.1)
    by_episode = fit(weights[:, None], outcome, np.repeat(np.arange(200), 30), draws=200)
    by_row = fit(weights[:, None], outcome, np.arange(6_000), draws=200)
    assert (by_episode.high - by_episode.low) > 2.5 * (by_row.high - by_row.low)
