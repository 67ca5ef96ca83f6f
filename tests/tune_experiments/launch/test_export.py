"""`concord export`: a row for each test of a trial, and tables for LaTeX."""

import csv
import dataclasses
import io

import pytest
from pyarrow import parquet

from tests.documented_commands import ROOT
from tune_experiments.__main__ import main
from tune_experiments.core.config_json import config_to_json
from tune_experiments.launch.export import to_latex, trial_columns
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.results import rows
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.run_folder import RunFolder

METRIC = "value_against_adversary"


def line(method, seed, value, metric=METRIC):
    result = Result("matrix_game", EXPERIMENT.caption, method, "game", "exact", seed, metric, value)
    return dataclasses.replace(result, env_steps=100)


@pytest.fixture
def run(tmp_path):
    """`run(name) -> folder` of a run of two methods, the first with three seeds."""

    def make(name):
        with RunFolder.open(tmp_path / name, config_to_json(SMOKE), "matrix_game") as folder:
            found = [line("sync", seed, -0.01 * seed) for seed in range(3)]
            rows.write(folder.results, [*found, line("sync", 0, 0.5, "tvd"), line("marginal", 0, -0.65)])
        return str(tmp_path / name)

    return make


def test_csv_has_a_row_for_each_trial_with_all_its_metrics(run, capsys):
    assert main(["export", run("first"), run("second")]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["run"], row["method"], row["seed"]) for row in found[:4]] == [
        *(("first", "sync", str(seed)) for seed in range(3)),
        ("first", "marginal", "0"),
    ]
    assert len(found) == 8 and {row["task"] for row in found} == {"game"}
    assert (found[0][METRIC], found[0]["tvd"], found[0]["env_steps"]) == ("-0.0", "0.5", "100")
    assert (found[1][METRIC], found[1]["tvd"]) == ("-0.01", "")


def test_a_metric_does_not_overwrite_the_column_of_its_name():
    columns = trial_columns({"first": [line("sync", 3, 0.5, "seed")]})
    assert (columns["seed"], columns["metric.seed"]) == ([3], [0.5])


def test_the_episodes_of_a_row_are_those_of_its_metric_with_the_most():
    lines = [dataclasses.replace(line("sync", 0, 0.5, f"of_{n}"), n_episodes=n) for n in (None, 32, 100, 35)]
    assert trial_columns({"first": lines})["episodes"] == [100]


def test_parquet_keeps_numbers_as_numbers(run, tmp_path):
    assert main(["export", run("first"), "--metrics", "tvd", "--out", str(tmp_path / "new/numbers.parquet")]) == 0
    found = parquet.read_table(tmp_path / "new/numbers.parquet").to_pydict()
    assert METRIC not in found
    assert (found["seed"], found["tvd"]) == ([0, 1, 2, 0], [0.5, None, None, None])


def test_latex_has_the_table_of_the_run_with_its_intervals_and_escaped_names(run, tmp_path):
    saved = tmp_path / "saved.jsonl.gz"
    assert main(["table", run("first"), "--save", str(saved)]) == 0
    for path in (run("first"), str(saved)):
        assert main(["export", path, "--out", str(tmp_path / "table.tex")]) == 0
        text = (tmp_path / "table.tex").read_text()
        head, body = text.split("\\midrule\n")
        assert "method & value\\_against\\_adversary" in head and "\\toprule" in head
        assert body.startswith("sync & $-$0.010 [$-$0.035, 0.015]") and "\\bottomrule" in body


def test_latex_escapes_what_has_a_meaning_there_in_titles_heads_and_cells():
    text = "50% a_b & #1 {x} ~ ^ \\ $ π ≥"
    escaped = r"50\% a\_b \& \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ $\pi$ $\geq$"
    made = to_latex({"a_run": [PaperTable(text, (text,), ((f"[m] {text}", (None,)),), "", {text: text})]})
    assert made.count(escaped) == 4
    assert "\n{}[m] " in made, "a bracket that begins a line would be an option of the line before"


def test_latex_says_which_run_has_none_of_the_metrics(run, capsys):
    other = str(ROOT / "docs/results/frozen_lake.jsonl.gz")
    assert main(["export", run("first"), other, "--format", "latex", "--metrics", "success"]) == 0
    found = capsys.readouterr()
    assert "first" in found.err and "frozen_lake" not in found.err and "success" in found.out
