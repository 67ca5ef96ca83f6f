"""Statistics over seeds by hand, and comparisons from results.jsonl alone."""

import numpy as np
import pytest

from tune_experiments.core.errors import UserError
from tune_experiments.results.comparison import compare, interquartile_mean, read_runs, share_above
from tune_experiments.results.intervals import NORMAL, welch_interval
from tune_experiments.results.plots import comparison_report
from tune_experiments.results.plots.comparison_report import write_comparison
from tune_experiments.results.rows import Result, replace_rows, write


def result(method, seed, value, metric="success", split="test"):
    return Result("furnmove_sync", "A table", method, "furnmove-v0", split, seed, metric, value)


def test_the_interquartile_mean_leaves_a_quarter_out_at_either_end():
    assert interquartile_mean([0, 1, 2, 3, 4, 5, 6, 100]) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert interquartile_mean([1.0, 5.0, 6.0]) == pytest.approx(4.0), "of three seeds none is left out"


def test_the_share_above_counts_pairs():
    first, second = [1.0, 3.0, 3.0], [2.0, 3.0]
    by_hand = np.mean([(a > b) + 0.5 * (a == b) for a in first for b in second])
    assert share_above(first, second) == pytest.approx(by_hand)
    assert share_above(second, first) == pytest.approx(1 - by_hand)


def test_methods_are_compared_where_two_were_measured(tmp_path):
    results = [result("sync", seed, value) for seed, value in enumerate([0.7, 0.72, 0.69])]
    results += [result("marginal", seed, value) for seed, value in enumerate([0.4, 0.41, 0.71])]
    results += [result("sync", 0, 3.0, metric="tvd"), result("sync", None, 0.7)]
    write(tmp_path / "results.jsonl", results)
    (comparison,) = compare(read_runs([tmp_path]))
    assert (comparison.title, comparison.metric) == ("furnmove_sync · furnmove-v0 · test", "success")
    sync, marginal = comparison.rows
    assert sync.values == (0.7, 0.72, 0.69)
    assert (sync.difference, sync.share_above) == (None, None)
    assert marginal.share_above == pytest.approx(2 / 9)
    assert marginal.difference == welch_interval(marginal.values, sync.values)
    text, picture = write_comparison(tmp_path, [comparison])
    assert "| marginal | 3 | 0.507 [0.069, 0.944] | -0.197 [-0.630, 0.236] | 0.507 | 0.222 |" in text.read_text()
    assert "exploratory" in text.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def panels(tmp_path, monkeypatch):
    """Draw these results; the panels of the figure."""
    figures = []
    monkeypatch.setattr(comparison_report, "save", lambda figure, path: figures.append(figure) or path)

    def draw(results):
        write_comparison(tmp_path, compare(results))
        figures[-1].canvas.draw()
        return [panel for panel in figures[-1].axes if panel.axison]

    return draw


def test_the_figure_says_what_the_intervals_that_it_shows_are_over(panels):
    def caption(of_seeds, **interval):
        lines = [result("sync", seed, 0.5 + seed / 10) for seed in range(of_seeds)]
        lines.append(Result(**vars(result("marginal", 0, 0.4)) | interval))
        (panel,) = panels(lines)
        return panel.get_xlabel().split("\n")[1:]

    episodes = {"ci_low": 0.3, "ci_high": 0.5, "interval": NORMAL}
    assert caption(3) == ["line: t over seeds"]
    assert caption(1, **episodes) == ["dotted: over episodes of one seed"]
    assert caption(3, **episodes) == ["line: t over seeds, dotted: over episodes of one seed"]
    assert caption(1) == []


def test_a_comparison_replaces_only_a_comparison(tmp_path):
    write(tmp_path / "results.jsonl", [result("sync", 0, 0.1), result("marginal", 0, 0.3)])
    comparisons = compare(read_runs([tmp_path]))
    report = tmp_path / "comparison.md"
    report.write_text("### What I think of these runs\n")
    with pytest.raises(UserError, match=r"comparison.md"):
        write_comparison(tmp_path, comparisons)
    assert report.read_text() == "### What I think of these runs\n"
    report.unlink()
    assert write_comparison(tmp_path, comparisons) == write_comparison(tmp_path, comparisons)


def test_a_method_of_two_runs_bears_their_names(tmp_path):
    for name, value in (("first", 0.1), ("second", 0.2)):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "results.jsonl", [result("sync", 0, value)])
    replace_rows(tmp_path / "second" / "results.jsonl", [result("marginal", 0, 0.3)])
    (comparison,) = compare(read_runs([tmp_path / "first", tmp_path / "second"]))
    assert [row.method for row in comparison.rows] == ["sync (first)", "sync (second)", "marginal"]


def test_folders_of_one_name_stay_apart(tmp_path):
    runs = [tmp_path / machine / "run" for machine in ("first", "second")]
    for value, run in enumerate(runs):
        run.mkdir(parents=True)
        write(run / "results.jsonl", [result("sync", 0, float(value))])
    (comparison,) = compare(read_runs(runs))
    assert [row.values for row in comparison.rows] == [(0.0,), (1.0,)]
    assert [row.method for row in comparison.rows] == [f"sync ({run})" for run in runs]


def test_random_play_is_a_row_of_its_own_after_the_methods_and_never_the_one_that_others_are_compared_with(tmp_path):
    lines = [result("random", None, 0.05), *(result("sync", seed, 0.7 + seed / 10) for seed in range(3))]
    lines += [Result(**vars(result("sync", seed, 0.1)) | {"condition": "in silence"}) for seed in range(3)]
    write(tmp_path / "results.jsonl", lines)
    (comparison,) = compare(read_runs([tmp_path]))
    assert [(row.method, row.seeds, row.values) for row in comparison.rows] == [
        ("sync", 3, pytest.approx((0.7, 0.8, 0.9))),
        ("random", 0, (0.05,)),
    ]
    assert "| random | 0 | 0.050 |" in comparison.markdown()


def test_conditions_of_one_world_are_compared_apart(tmp_path):
    lines = [result(method, 0, value) for method, value in (("sync", 0.9), ("marginal", 0.4))]
    lines += [Result(**vars(line) | {"condition": "in silence", "value": 0.1}) for line in lines]
    write(tmp_path / "results.jsonl", lines)
    plain, silent = compare(read_runs([tmp_path]))
    assert [row.values for row in plain.rows] == [(0.9,), (0.4,)]
    assert [row.values for row in silent.rows] == [(0.1,), (0.1,)] and "in silence" in silent.title
