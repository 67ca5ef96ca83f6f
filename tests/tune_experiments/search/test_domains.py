"""Search spaces from the command line: any field, parsed and never evaluated."""

import pytest

from tests.tune_experiments.run.refusals import assert_contract, refusal
from tests.tune_experiments.search.test_settings import Config
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.settings import all_settings, draw_settings, parse_search_space


def values(words, count):
    return [one.values for one in draw_settings(parse_search_space(words, Config(), None), Config(), "sync", count, 0)][
        1:
    ]


def test_every_kind_draws_values_of_the_fields_type():
    words = ["sync.learning_rate=loguniform:1e-4:1e-1", "epochs=integers:1:4", "joint_ratio=choice:true,false"]
    drawn = values([*words, "algorithm=choice:ppo,impala"], 20)
    assert all(1e-4 <= one["sync.learning_rate"] <= 1e-1 for one in drawn)
    assert {one["epochs"] for one in drawn} == {1, 2, 3, 4}
    assert {one["joint_ratio"] for one in drawn} == {True, False}
    assert {one["algorithm"] for one in drawn} == {"ppo", "impala"}
    assert all(0.5 <= one["sync.learning_rate"] <= 2 for one in values(["sync.learning_rate=uniform:0.5:2"], 9))


@pytest.mark.parametrize("kind", ["uniform", "loguniform"])
@pytest.mark.parametrize(("low", "high"), [(0.99, 0.9999), (0.9991, 0.9999), (1.2346e-4, 1.2349e-4)])
def test_values_of_a_narrow_range_stay_in_it_and_differ(kind, low, high):
    drawn = [one["sync.learning_rate"] for one in values([f"sync.learning_rate={kind}:{low}:{high}"], 20)]
    assert len(set(drawn)) == 19 and all(low <= one <= high for one in drawn)


def test_a_field_of_several_values_takes_lists():
    space = parse_search_space(["widths=grid:[4],[16, 16],[]", "epochs=grid:1,2"], Config(), None)
    tried = {(one.config.widths, one.config.epochs) for one in all_settings(space, Config(), "sync")}
    assert tried == {(widths, epochs) for widths in ((4,), (16, 16), ()) for epochs in (1, 2)} | {((8,), 2)}


def test_objective_and_uses_stay_the_experiments():
    declared = SearchSpace({}, lambda config, method, path: path != "epochs", "valid/value")
    space = parse_search_space(["epochs=grid:1,3", "algorithm=grid:a,b"], Config(), declared)
    assert space.objective == "valid/value"
    assert {one.config.epochs for one in all_settings(space, Config(), "sync")} == {2}


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("epochs", "PATH=KIND:VALUES"),
        ("epochs=__import__('os'):1", "PATH=KIND:VALUES"),
        ("epoch=grid:1", "epochs"),
        ("epochs=grid:many", "'many'"),
        ("epochs=grid:9", "--epochs"),
        ("sync.learning_rate=uniform:1", "LOW:HIGH"),
        *((f"sync.learning_rate=uniform:{ends}", ends) for ends in ("2:1", "0:inf", "-1e400:1", "nan:1")),
        ("sync.learning_rate=loguniform:0:1", "learning_rate"),
        ("epochs=integers:1.5:3", "epochs"),
    ],
)
def test_what_makes_no_sense_is_refused(word, named):
    assert_contract(refusal(lambda: parse_search_space([word], Config(), None)), named)


def test_a_field_has_one_domain_and_a_grid_no_range():
    twice = refusal(lambda: parse_search_space(["epochs=grid:1", "epochs=grid:2"], Config(), None))
    space = parse_search_space(["sync.learning_rate=uniform:0:1"], Config(), None)
    assert_contract(twice, "--search-over")
    assert_contract(refusal(lambda: all_settings(space, Config(), "sync")), "--search-by", "sync.learning_rate")


def test_a_grid_needs_no_number():
    _, options = parse({"laptop": Config()}, ["--search-by", "grid", "--search-over", "epochs=grid:1,2"], "")
    assert (options.is_search, options.search) == (True, None)
