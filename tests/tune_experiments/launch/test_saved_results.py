"""Results that are kept in the repository: small, complete, and the only source of the tables in documents."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tune_experiments.run.refusals import assert_contract
from tune_experiments import rtfm_txt2pi
from tune_experiments.__main__ import main
from tune_experiments.core.config_json import config_to_json
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch import saved_results
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.results import rows
from tune_experiments.results.intervals import WILSON
from tune_experiments.results.main_comparison import BEFORE, NOT_RECORDED
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import make_table
from tune_experiments.run.run_folder import ANNOUNCED, CHANGED, MODELS, RunFolder

RESULTS = Path(__file__).parents[3] / "docs" / "results"
METRIC = "value_against_adversary"


def line(method, seed, value):
    return Result("matrix_game", EXPERIMENT.caption, method, "game", "exact", seed, METRIC, value, interval="none")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of two methods and three seeds, as its command leaves it, but for trials."""
    monkeypatch.setattr("sys.orig_argv", ["/bin/python3.12", "tune_experiments/matrix_game.py", "--out", "/a/b"])
    with RunFolder.open(tmp_path / "run", config_to_json(SMOKE), "matrix_game", seeds=(0, 1, 2)) as folder:
        found = [line("sync", seed, -0.01 * seed) for seed in range(3)]
        rows.write(folder.results, [*found, *(line("marginal", seed, -0.65 - 0.01 * seed) for seed in range(3))])
    return tmp_path / "run"


@pytest.fixture
def file(run, tmp_path):
    path = tmp_path / "results" / "game.jsonl.gz"
    assert main(["table", str(run), "--save", str(path)]) == 0
    return path


def test_a_kept_file_carries_commit_command_seeds_and_all_rows(run, file):
    held = saved_results.read_saved(file)
    assert held.results == tuple(rows.read(run / "results.jsonl"))
    assert (held.experiment, held.seeds) == ("matrix_game", (0, 1, 2))
    assert held.commands == ("python tune_experiments/matrix_game.py",), "no path of this machine"
    assert len(held.commits) == 1
    assert [one.metric for one in held.comparisons] == [METRIC]


def tables_of_run_and_kept_file(run, tmp_path):
    """What both say, as Markdown."""
    path = tmp_path / "results" / "game.jsonl.gz"
    assert main(["table", str(run), "--save", str(path)]) == 0
    assert main(["table", str(run)]) == 0
    return saved_results.read_saved(path).markdown(), (run / "table.md").read_text()


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        (MODELS, {"name": "small-reader", "revision": "readers==1.2", "weights_sha256": "00"}, "reader (readers==1.2)"),
        (CHANGED, "--budget-env-steps 20 (was 10)", "--budget-env-steps 20 (was 10)"),
    ],
)
def test_tables_of_a_run_and_of_its_kept_file_name_models_and_flags_that_changed(run, tmp_path, key, value, shown):
    with RunFolder.open(run, config_to_json(SMOKE), "matrix_game") as folder:
        folder.record(key, [value])
    for text in tables_of_run_and_kept_file(run, tmp_path):
        assert shown in text


@pytest.mark.parametrize("is_other", [False, True])
def test_tables_of_a_run_and_of_its_kept_file_have_the_papers_numbers_of_the_papers_task_alone(tmp_path, is_other):
    config = replace(rtfm_txt2pi.SMOKE, task=replace(rtfm_txt2pi.SMOKE.task, distractor_monster=not is_other))
    reading = rtfm_txt2pi.EXPERIMENT
    with RunFolder.open(tmp_path / "run", config_to_json(config), reading.name, seeds=(0,)) as folder:
        won = Result(reading.name, reading.caption, "txt2pi", "eval_6x6", "test", 0, "win_rate", 0.5, interval="none")
        rows.write(folder.results, [won])
    for text in tables_of_run_and_kept_file(tmp_path / "run", tmp_path):
        assert ("| txt2pi, paper |" in text) is not is_other


def test_tables_of_a_run_and_of_its_kept_file_name_the_trials_without_results(run, tmp_path):
    for seed in (2, 3):
        (run / "trials" / f"sync-seed{seed}").mkdir(parents=True)
    for text in tables_of_run_and_kept_file(run, tmp_path):
        assert "sync seed 3" in text and "sync seed 2" not in text


def test_an_experiment_makes_its_tables_of_all_rows_under_its_present_caption(run, tmp_path, monkeypatch):
    def tables(self, results):
        return [make_table([line for line in results if line.table == self.caption], self.caption)]

    monkeypatch.setattr(type(EXPERIMENT), "tables", tables)
    before, results = tables_of_run_and_kept_file(run, tmp_path), run / "results.jsonl"
    first, *others = rows.read(results)
    rows.write(results, [replace(first, table="As it was called"), *others])
    assert tables_of_run_and_kept_file(run, tmp_path) == before


def test_a_comparison_that_a_session_did_not_announce_was_named_later(run, tmp_path):
    announced = [one.announcement() for one in EXPERIMENT.main_comparisons(SMOKE)]
    late = "in the script, not announced before the run"
    for number, (said, named) in enumerate([(announced, "before the run"), ([], late)]):
        with RunFolder.open(run, config_to_json(SMOKE), "matrix_game") as folder:
            folder.record(ANNOUNCED, said)
        path = tmp_path / f"{number}.jsonl.gz"
        assert main(["table", str(run), "--save", str(path)]) == 0
        assert [one.named for one in saved_results.read_saved(path).comparisons] == [named]
        assert f"Named {named}, main comparison: " in saved_results.read_saved(path).markdown()


def test_a_kept_file_prints_its_table_with_intervals_and_verdict(file, capsys):
    assert main(["table", str(file)]) == 0
    shown = capsys.readouterr().out
    words = " ".join(shown.split())
    assert "sync -0.010 [-0.035, 0.015]" in words
    assert "+0.650" in words and "[0.627, 0.673]" in words
    assert "Seeds 0 1 2, commit " in shown and "    python tune_experiments/matrix_game.py" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_a_document_gets_the_tables_of_its_files_and_a_stale_number_is_refused(file, tmp_path, capsys):
    document = tmp_path / "results" / "page.md"
    document.write_text("Before.\n\n<!-- table: game -->\nold\n<!-- end -->\n\nAfter.\n")
    assert main(["table", "--document", str(document), "--check"]) != 0
    assert document.name in capsys.readouterr().err
    assert main(["table", "--document", str(document)]) == 0
    text = document.read_text()
    assert text.startswith("Before.\n") and text.endswith("After.\n") and "| sync | -0.010" in text
    assert main(["table", "--document", str(document), "--check"]) == 0
    document.write_text(text.replace("-0.010", "-0.009"))
    assert main(["table", "--document", str(document), "--check"]) != 0


def test_a_file_of_more_than_50_kB_is_refused(run, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(saved_results, "MAX_BYTES", 100)
    assert main(["table", str(run), "--save", str(tmp_path / "big.jsonl.gz")]) != 0
    assert "at most 100" in capsys.readouterr().err
    assert not (tmp_path / "big.jsonl.gz").exists()


@pytest.mark.long
def test_every_kept_file_is_small_and_gives_the_tables_of_the_results_pages():
    pages, files = sorted(RESULTS.glob("*.md")), sorted(RESULTS.glob(f"*{saved_results.SUFFIX}"))
    stale = [page.name for page in pages if saved_results.render_document(page) != page.read_text()]
    assert stale == [], "write python -m tune_experiments table --document docs/results/*.md"
    assert [path.name for path in files if path.stat().st_size > saved_results.MAX_BYTES] == []


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl.gz")), ids=lambda path: path.name.split(".")[0])
def test_kept_rows_have_the_ranges_that_their_experiments_declare_and_name_no_player_in_a_world(path):
    """So that no interval and no verdict of a kept table changes with a declaration unseen."""
    kept = saved_results.read_saved(path)
    experiment = find_experiment(kept.experiment)
    for row in kept.results:
        declared = experiment.metric_range(row.metric)
        low, high = (math.inf * sign if end is None else end for sign, end in zip((-1, 1), row.bounds, strict=True))
        assert (low, high) == (declared.low, declared.high), row.metric
        assert row.interval != WILSON or declared.is_share, row.metric
        assert not {"random", "after", "scripted"} & set(row.world.replace("_", " ").split()), row.world
    others = {row.method for row in kept.results if row.seed is None}
    assert not others & {row.method for row in kept.results if row.seed is not None}
    keys = [(row.trial, row.metric) for row in kept.results]
    assert len(keys) == len(set(keys))


def test_a_marker_chooses_tables_columns_and_rows(file):
    document = file.parent / "page.md"
    document.write_text(f"<!-- table: game; tables 1; columns {METRIC}; rows sync -->\n<!-- end -->\n")
    assert main(["table", "--document", str(document)]) == 0
    assert "| sync | -0.010" in document.read_text()
    assert "| marginal |" not in document.read_text()


@pytest.mark.parametrize("choice", ["rows sink", "tables 7", "columns height"])
def test_a_marker_that_chooses_what_is_not_there_is_refused(file, capsys, choice):
    document = file.parent / "page.md"
    document.write_text(f"<!-- table: game; {choice} -->\n<!-- end -->\n")
    assert main(["table", "--document", str(document)]) != 0
    assert choice in capsys.readouterr().err


def part(file, name, seeds, value=0.5, named=BEFORE, **changes):
    """A saved file with other seeds, and with this value of a baseline."""
    whole = saved_results.read_saved(file)
    found = [replace(one, seed=seed) for one in whole.results if one.seed == 0 for seed in seeds]
    saved = replace(
        whole,
        commands=(f"{whole.commands[0]} --seeds {' '.join(map(str, seeds))}",),
        seeds=seeds,
        results=(*found, replace(found[0], method="random", seed=None, value=value)),
        **{"comparisons": tuple(replace(one, named=named) for one in whole.comparisons)} | changes,
    )
    saved_results.write_saved(saved, file.parent / name)
    return str(file.parent / name)


def test_files_of_other_seeds_are_joined_to_one_with_the_intervals_of_all_seeds(file, capsys):
    parts = [
        part(file, "a.jsonl.gz", (0, 1), untested=("sync seed 2", "sync seed 9")),
        part(file, "b.jsonl.gz", (2, 3, 4)),
    ]
    joined = file.parent / "c.jsonl.gz"
    assert main(["table", *parts, "--save", str(joined)]) == 0
    held = saved_results.read_saved(joined)
    assert held.seeds == (0, 1, 2, 3, 4)
    assert len(held.commands) == 2
    assert [one.seed for one in held.results if one.method == "sync"] == [0, 1, 2, 3, 4]
    assert len([one for one in held.results if one.method == "random"]) == 1
    assert [one.named for one in held.comparisons] == [BEFORE]
    assert held.untested == ("sync seed 9",)


@pytest.mark.parametrize("change", [{"named": NOT_RECORDED}, {"comparisons": ()}])
def test_a_comparison_of_joined_files_was_named_before_the_run_only_where_each_says_so(file, change):
    paths = [part(file, "a.jsonl.gz", (0, 1)), part(file, "b.jsonl.gz", (2,), **change)]
    joined = saved_results.join_saved([Path(path) for path in paths])
    assert [one.named == BEFORE for one in joined.comparisons] == [False]


@pytest.mark.parametrize(
    "other", [{"seeds": (1, 2)}, {"seeds": (2,), "settings": "other"}, {"seeds": (2,), "value": 0.4}]
)
def test_files_that_share_a_trial_or_differ_in_more_than_their_seeds_are_not_joined(file, other, capsys):
    paths = [part(file, "a.jsonl.gz", (0, 1)), part(file, "b.jsonl.gz", **other)]
    assert main(["table", *paths, "--save", str(file.parent / "c.jsonl.gz")]) == 2
    assert_contract(capsys.readouterr().err.removeprefix("error: ").strip(), *paths)
    assert not (file.parent / "c.jsonl.gz").exists()
