"""Search spaces from the command line, parsed and never evaluated; and a search as a figure and in TensorBoard."""

import math

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

from tests.tune_experiments.run.refusals import assert_contract, refusal
from tests.tune_experiments.search.test_settings import Config
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.folder import Ranked, draw_scores, write_hparams
from tune_experiments.search.settings import Setting, all_settings, draw_settings, parse_search_space


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


KEY = "valid/success"


def ranked(number, values, *scores):
    return Ranked(Setting(number, None, values), dict(enumerate(scores)), ())


RANKING = {
    "sync": [
        ranked(0, {"rate": 0.1, "widths": (8, 8), "joint": True}, 0.5, 0.7),
        ranked(1, {"rate": 0.001, "widths": (), "joint": False}, 0.25, math.nan),
    ],
    "marginal": [ranked(0, {"rate": 0.1}, 0.125)],
}


def test_a_search_without_a_finished_setting_is_no_error(tmp_path):
    draw_scores(tmp_path / "plots", {"sync": []}, KEY)
    write_hparams(tmp_path, {"sync": []}, KEY)


def test_tensorboard_finds_values_and_scores_and_takes_the_seeds_of_a_setting_as_one_group(tmp_path):
    for _ in range(2):  # a ranking that is made again
        write_hparams(tmp_path, RANKING, KEY)
    found = {}
    for run in sorted((tmp_path / "hparams").iterdir()):
        (file,) = run.iterdir()
        events = EventAccumulator(str(file)).Reload()
        data = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
        start = metadata.parse_session_start_info_plugin_data(data)
        values = {
            name: value.string_value or value.number_value or value.bool_value for name, value in start.hparams.items()
        }
        found[run.name] = start.group_name, values, events.Scalars(KEY)[0].value
    assert list(found) == ["marginal-setting00-seed0", *(f"sync-setting0{n}-seed{s}" for n in (0, 1) for s in (0, 1))]
    group, values, score = found["sync-setting00-seed1"]
    assert (group, score) == (found["sync-setting00-seed0"][0], np.float32(0.7))
    assert values == {"method": "sync", "rate": 0.1, "widths": "(8, 8)", "joint": True}
