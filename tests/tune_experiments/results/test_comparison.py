"""Statistics over seeds by hand, and comparisons from results.jsonl alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tune_experiments.core.errors import UserError
from tune_experiments.launch.export import describe_differences, name_runs, read_run
from tune_experiments.launch.saved_results import SavedRun, write_saved
from tune_experiments.results.comparison import (
    compare,
    improvement,
    interquartile_mean,
    mean_over_tasks,
    median_over_tasks,
    with_bootstrap,
)
from tune_experiments.results.intervals import Interval, welch_interval
from tune_experiments.results.plots import comparison_report
from tune_experiments.results.plots.comparison_report import profile, write_comparison
from tune_experiments.results.rows import Result, write
from tune_experiments.run.run_folder import CONFIG_FILE, MODELS, SCHEMA_VERSION, RunFolder


def result(method, seed, value, metric="success", split="test"):
    return Result("furnmove_sync", "A table", method, "furnmove-v0", split, seed, metric, value)


def read_runs(paths):
    return {name: read_run(path) for name, path in name_runs(paths).items()}


def test_tasks_weigh_equally_however_many_seeds_each_has():
    some, others = (np.full(count, 0.9) for count in (5, 3)), (np.full(count, 0.1) for count in (3, 5))
    for easy, hard in zip(some, others, strict=True):
        assert interquartile_mean(easy, hard) == pytest.approx(0.5)
        np.testing.assert_allclose(profile([tuple(easy), tuple(hard)], np.array([0.5]))[0], [0.5])


def test_the_probability_of_improvement_counts_pairs_in_each_task():
    first, second = [1.0, 3.0, 3.0], [2.0, 3.0]
    by_hand = np.mean([(a > b) + 0.5 * (a == b) for a in first for b in second])
    assert improvement([first], [second]).value == pytest.approx(by_hand)
    assert improvement([second], [first]).value == pytest.approx(1 - by_hand)
    assert improvement([first, [0.0]], [second, [1.0]]).value == pytest.approx(by_hand / 2)


FIRST = [[0.73, 0.7, 0.91, 0.66, 0.42], [0.62, 0.87, 0.83, 0.91, 0.66], [0.54, 0.48, 0.43, 0.4, 0.69]]
SECOND = [[0.33, 0.65, 0.34, 0.27], [0.76, 0.73, 0.45, 0.82], [0.18, 0.67, 0.53, 0.6]]
"""Three tasks with five and four seeds."""


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (with_bootstrap(mean_over_tasks, FIRST), (0.65667, 0.592, 0.720)),
        (with_bootstrap(median_over_tasks, FIRST), (0.684, 0.54395, 0.788)),
        (with_bootstrap(interquartile_mean, FIRST), (0.65667, 0.57111, 0.74333)),
        (with_bootstrap(mean_over_tasks, SECOND), (0.5275, 0.43331, 0.61585)),
        (with_bootstrap(median_over_tasks, SECOND), (0.495, 0.365, 0.635)),
        (with_bootstrap(interquartile_mean, SECOND), (0.54, 0.405, 0.65667)),
        (improvement(FIRST, SECOND), (0.7, 0.5, 0.88333)),
    ],
)
def test_measures_and_their_intervals_are_those_of_rliable(found, expected):
    """By rliable 1.2.0: `library.get_interval_estimates({"first": x}, measure, reps=50_000)`, x [seeds, tasks].

    Measures: metrics.aggregate_mean, aggregate_median, aggregate_iqm and probability_of_improvement.
    """
    assert found.value == pytest.approx(expected[0], abs=1e-5)
    assert (found.low, found.high) == pytest.approx(expected[1:], abs=0.006)


def test_a_measure_of_equal_seeds_has_no_interval():
    assert with_bootstrap(mean_over_tasks, [np.ones(4)]) == Interval(1.0)


def test_a_performance_profile_is_that_of_rliable():
    """By `library.create_performance_profile({"first": x}, [0.25, 0.5, 0.75], reps=20_000)`."""
    share, low, high = profile(FIRST, np.array([0.25, 0.5, 0.75]))
    np.testing.assert_allclose(share, [1.0, 0.73333, 0.26667], atol=1e-5)
    np.testing.assert_allclose(low, [1.0, 0.53333, 0.06667], atol=1e-5)
    np.testing.assert_allclose(high, [1.0, 0.93333, 0.46667], atol=1e-5)


def test_tasks_are_put_together_where_a_metric_has_the_same_range_in_all(tmp_path):
    for task, by_method in enumerate((FIRST, SECOND)):
        lines = [
            Result(**vars(result(f"method{number}", seed, value)) | {"world": f"task{task}", "bounds": (0.0, 1.0)})
            for number, values in enumerate(by_method[:2])
            for seed, value in enumerate(values)
        ]
        lines += [Result(**vars(line) | {"metric": "return", "bounds": (0.0, None)}) for line in lines]
        (tmp_path / str(task)).mkdir()
        write(tmp_path / str(task) / "results.jsonl", lines)
    found = compare(read_runs([tmp_path / "0", tmp_path / "1"]))
    assert [one.metric for one in found] == ["success", "return", "success", "return", "success"]
    chosen = compare(read_runs([tmp_path / "0", tmp_path / "1"]), ["success"])
    assert chosen == [one for one in found if one.metric == "success"]
    together = found[-1]
    assert [row.scores for row in together.rows] == [
        (tuple(FIRST[number]), tuple(SECOND[number])) for number in range(2)
    ]
    assert together.rows[1].improvement == improvement([FIRST[1], SECOND[1]], [FIRST[0], SECOND[0]])
    assert {"mean", "median", "IQM", "P(> method0)"} == set(together.table().metrics)
    written = write_comparison(tmp_path, found[-1:])
    assert [path.name for path in written] == ["comparison.md", "comparison.png", "profiles.png"]


def test_a_method_that_a_task_lacks_is_named_above_the_comparison_across_tasks(tmp_path):
    for task, methods in enumerate((("ippo", "mappo", "sync"), ("ippo", "mappo"))):
        lines = [
            replace(result(method, seed, 0.1 * seed), world=f"task{task}", bounds=(0.0, 1.0))
            for method in methods
            for seed in range(2)
        ]
        (tmp_path / str(task)).mkdir()
        write(tmp_path / str(task) / "results.jsonl", lines)
    *_, together = compare(read_runs([tmp_path / "0", tmp_path / "1"]))
    assert [row.method for row in together.rows] == ["ippo", "mappo"] and "sync" in together.title


def test_methods_are_compared_where_two_were_measured(tmp_path):
    results = [result("sync", seed, value) for seed, value in enumerate([0.7, 0.72, 0.69])]
    results += [result("marginal", seed, value) for seed, value in enumerate([0.4, 0.41, 0.71])]
    results += [result("sync", 0, 3.0, metric="tvd"), result("sync", None, 0.7)]
    write(tmp_path / "results.jsonl", results)
    (comparison,) = compare(read_runs([tmp_path]))
    assert (comparison.title, comparison.metric) == ("furnmove_sync · furnmove-v0 · test", "success")
    sync, marginal = comparison.rows
    assert sync.scores == ((0.7, 0.72, 0.69),)
    assert (sync.difference, sync.improvement) == (None, None)
    assert marginal.improvement.value == pytest.approx(2 / 9)
    assert marginal.difference == welch_interval(marginal.scores[0], sync.scores[0])
    text, picture = write_comparison(tmp_path, [comparison])
    row = "| marginal (3 seeds) | 0.507 [0.069, 0.944] | -0.197 [-0.630, 0.236] | 0.507 [0.400, 0.710] | 0.222 ["
    assert row in text.read_text()
    assert "exploratory" in text.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_rounding_is_not_drawn_as_a_difference(tmp_path, monkeypatch):
    write(tmp_path / "results.jsonl", [result("sync", 0, 4e-8), result("marginal", 0, 0.0)])
    monkeypatch.setattr(comparison_report, "save", lambda figure, path: figure)
    left, right = comparison_report.draw_comparisons(compare(read_runs([tmp_path])), tmp_path).axes[0].get_xlim()
    assert right - left > 0.01


@pytest.mark.parametrize("name", ["comparison.md", "plots/comparison.pdf", "plots/profiles.png"])
def test_a_comparison_replaces_only_a_comparison(tmp_path, name):
    write(tmp_path / "results.jsonl", [result("sync", 0, 0.1), result("marginal", 0, 0.3)])
    comparisons = compare(read_runs([tmp_path]))
    (other := tmp_path / name).parent.mkdir(exist_ok=True)
    other.write_text("### What I think of these runs\n")
    with pytest.raises(UserError, match=name):
        write_comparison(tmp_path, comparisons)
    assert other.read_text() == "### What I think of these runs\n"
    other.unlink()
    assert write_comparison(tmp_path, comparisons) == write_comparison(tmp_path, comparisons)


@pytest.mark.parametrize("folders", [("first", "second"), ("first/run", "second/run")])
def test_a_method_of_two_runs_bears_their_names_or_their_paths(tmp_path, folders):
    runs = [tmp_path / folder for folder in folders]
    for value, run in enumerate(runs):
        run.mkdir(parents=True)
        write(run / "results.jsonl", [result("sync", 0, float(value)), result(f"other {value}", 0, 0.3)])
    (comparison,) = compare(read_runs(runs))
    names = [run.name if run.name in folders else run for run in runs]
    assert [row.method for row in comparison.rows] == [f"sync ({names[0]})", "other 0", f"sync ({names[1]})", "other 1"]
    assert [row.scores for row in comparison.rows[::2]] == [((0.0,),), ((1.0,),)]


def test_runs_that_were_trained_in_other_ways_are_compared_with_a_note(tmp_path):
    paths = {}
    for method, number in (("first", 2), ("second", 3), ("same", 2)):
        paths[method] = folder = tmp_path / method
        config = {"env_arguments": str(number), "methods": [method], "seeds": [number]}
        folder.mkdir()
        (folder / CONFIG_FILE).write_text(
            json.dumps({"schema_version": SCHEMA_VERSION, "experiment": "train", "config": config})
        )
        write(folder / "results.jsonl", [replace(result(method, 0, 0.5), env_steps=1000 * number)])
    (sentence,) = describe_differences(paths)
    assert all(word in sentence for word in ("first -> second", "env_arguments: '2' -> '3'"))
    assert "seeds" not in sentence and "methods" not in sentence
    (unequal,), (equal,) = (compare(read_runs([paths["first"], paths[other]])) for other in ("second", "same"))
    assert all(word in unequal.table().caption for word in ("first 2,000", "second 3,000"))
    assert equal.table().caption == ""


def test_saved_files_of_other_commands_and_models_are_compared_with_a_note(tmp_path):
    saved = {
        "first": ("python x.py --seeds 0 1 --budget-env-steps 9 --methods sync", "small"),
        "same": ("python x.py --budget-env-steps 9 --seeds 2", "small"),
        "second": ("python x.py --budget-env-steps 8 --seeds 2", "large"),
    }
    paths = {name: tmp_path / f"{name}.jsonl.gz" for name in saved}
    for name, (command, model) in saved.items():
        write_saved(SavedRun("furnmove_sync", ("c",), (command,), (), (), (model,)), paths[name])
    paths["run"] = tmp_path / "run"
    with RunFolder.open(paths["run"], {}, "furnmove_sync") as folder:
        folder.record(MODELS, [{"name": "small"}])
    other, run = describe_differences(paths)
    assert all(word in other for word in ("first -> second", "--budget-env-steps 8", "'small' -> 'large'"))
    assert "first -> run" in run and "models" not in run


def test_random_play_is_a_row_of_its_own_after_the_methods_and_never_the_one_that_others_are_compared_with(tmp_path):
    lines = [result("random", None, 0.05), *(result("sync", seed, 0.7 + seed / 10) for seed in range(3))]
    lines += [Result(**vars(result("sync", seed, 0.1)) | {"condition": "in silence"}) for seed in range(3)]
    write(tmp_path / "results.jsonl", lines)
    (comparison,) = compare(read_runs([tmp_path]))
    assert [(row.method, row.seeds) for row in comparison.rows] == [("sync", 3), ("random", 0)]
    assert comparison.rows[1].scores == ((0.05,),)
    assert "| random | 0.050 |" in comparison.table().markdown()


def test_conditions_of_one_world_are_compared_apart(tmp_path):
    lines = [result(method, 0, value) for method, value in (("sync", 0.9), ("marginal", 0.4))]
    lines += [Result(**vars(line) | {"condition": "in silence", "value": 0.1}) for line in lines]
    write(tmp_path / "results.jsonl", lines)
    plain, silent = compare(read_runs([tmp_path]))
    assert [row.scores for row in plain.rows] == [((0.9,),), ((0.4,),)]
    assert [row.scores for row in silent.rows] == [((0.1,),), ((0.1,),)] and "in silence" in silent.title
