"""Each table names one comparison before its run, and prints what came of it."""

import pytest

from tests.tune_experiments.experiments import TRAINED
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.results.main_comparison import NOT_RECORDED, MainComparison, announcements, with_verdicts
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import make_table

MAIN = MainComparison("sync", "marginal", "success", "rooms")
WITHOUT = {"furnmove_communication"}
"""Experiments whose rows are slopes of one team each, with intervals over episodes: nothing to compare over seeds."""


def lines(method, values, world="rooms", low=None, high=None, condition=""):
    def line(seed, value):
        rest = ("test", seed, "success", value, low, high, 100)
        return Result("furnmove_sync", "A table", method, world, *rest, condition=condition)

    return [line(seed, value) for seed, value in enumerate(values)]


@pytest.mark.parametrize(
    ("first", "second", "above", "numbers"),
    [
        ((0.70, 0.72, 0.71), (0.40, 0.41, 0.42), "sync", "+0.300, Welch [0.277, 0.323]"),
        ((0.40, 0.41, 0.42), (0.70, 0.72, 0.71), "marginal", ""),
        ((0.40, 0.41, 0.80), (0.30, 0.32, 0.71), None, ""),
        ((0.9,), (0.1,), None, ""),
        ((0.5, 0.5), (0.5, 0.5), None, "+0.000"),
        ((1.0, 1.0), (0.0, 0.0), "sync", ""),
    ],
)
def test_the_verdict_is_above_below_or_not_separated(first, second, above, numbers):
    verdict = MAIN.verdict([*lines("sync", first), *lines("marginal", second), *lines("sync", (9.0,), "elsewhere")])
    assert [name for name in ("sync", "marginal") if f"**{name} above " in verdict] == ([above] if above else [])
    assert numbers in verdict and NOT_RECORDED in verdict and MAIN.announcement() in verdict


@pytest.mark.parametrize(
    ("untold", "verdict"),
    [
        ((0.1, 0.4, 0.7), "**sync (told) above "),
        ((0.4, 0.7, 0.1), "**not separated"),
    ],
)
def test_two_conditions_of_one_method_are_compared_seed_by_seed(untold, verdict):
    main = MainComparison("sync", "sync", "success", condition="told", against_condition="untold")
    told = lines("sync", (0.2, 0.51, 0.8, 0.9), condition="told")
    assert verdict in main.verdict([*told, *reversed(lines("sync", untold, condition="untold"))])


def test_equal_seeds_are_apart_only_if_their_own_intervals_are():
    wide, other = lines("sync", (1.0, 1.0), low=0.5, high=1.0), lines("marginal", (0.0, 0.0), low=0.0, high=0.6)
    assert "not separated" in MAIN.verdict([*wide, *other])


def test_worlds_of_one_seed_are_not_counted_as_seeds():
    main = MainComparison("sync", "marginal", "success")
    rows = [*lines("sync", (0.9, 0.8)), *lines("marginal", (0.1, 0.2))]
    assert "**sync above marginal**" in main.verdict(rows)
    assert "**no verdict**" in main.verdict([*rows, *lines("sync", (0.9,), "hard")])


def test_a_method_that_was_not_run_leaves_everything_exploratory():
    assert " above " not in MAIN.verdict(lines("sync", (0.5, 0.6)))


def test_a_run_that_lacks_a_side_says_which_instead_of_naming_the_comparison():
    other = MainComparison("sama", "sama", "success", condition="told", against_condition="untold")
    assert announcements([MAIN], ["sync", "marginal"]) == [MAIN.announcement()]
    assert [said.split()[-1] for said in announcements([MAIN], ["sync"])] == ["marginal"]
    assert announcements([MAIN, other], ["sama"]) == [other.announcement()], "two conditions of one row need no other"
    assert announcements([MAIN, other], ["central"])[0].endswith("sync, marginal, sama")
    assert announcements([], ["sync"]) == []


def test_the_verdict_stands_under_the_table_that_it_names():
    rows = lines("sync", (0.70, 0.72, 0.71))
    tables = [make_table(rows, "A table", ("success",)) for _ in range(2)]
    first, second = with_verdicts(tables, [MAIN], rows)
    assert "is exploratory" in first.markdown() and "is exploratory" not in second.markdown()
    named = MainComparison("sync", "marginal", "success", table="Another table")
    assert with_verdicts(tables, [named], rows) == tables


@pytest.mark.parametrize("name", TRAINED)
def test_every_experiment_names_a_main_comparison_of_rows_that_it_can_train(name):
    experiment = find_experiment(name)
    config = experiment.presets[experiment.default_preset]
    methods = experiment.methods(config)
    comparisons = experiment.main_comparisons(config)
    if name not in WITHOUT:
        assert bool(comparisons) == (len(methods) > 1 or name == "sama_ablations")
    assert len({one.table for one in comparisons}) == len(comparisons), "one a table"
    for one in comparisons:
        assert {one.method, one.against} <= set(methods)
