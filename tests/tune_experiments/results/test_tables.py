"""Rules of tables: our numbers with the right kind of interval, the paper's beside them, from results alone."""

import io

import pytest
from rich.console import Console

from tune_experiments.experiment.errors import UserError
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import FURNITURE_METRICS, make_table, write_tables


def line(method, metric, value, seed=0, low=None, high=None, split="test"):
    return Result(
        "furnmove_sync", "unseen rooms", method, "furnmove-v0", split, seed, metric, value, low, high, 100, 5000
    )


ONE_SEED = [
    line("sync", "success", 0.75, low=0.7, high=0.8),
    line("sync", "episode_length", 110.44, low=100, high=120),
    line("marginal", "success", 0.5, low=0.4, high=0.6),
]


def test_one_seed_shows_the_interval_over_episodes_and_the_paper_below():
    table = make_table(ONE_SEED, "unseen rooms", ("success", "episode_length"), {"sync": {"success": 0.762}})
    assert table.markdown().splitlines() == [
        "### unseen rooms",
        "",
        "| method | success | episode_length |",
        "|---|---:|---:|",
        "| sync | 0.750 [0.700, 0.800] | 110.4 [100.0, 120.0] |",
        "| sync, paper | 0.762 |  |",
        "| marginal | 0.500 [0.400, 0.600] |  |",
        "",
        "Intervals of 95 %: over 100 episodes of one seed (1.96 sd / sqrt n, shares by Wilson)."
        " Trained for 5,000 env steps.",
    ]


def test_several_seeds_show_the_bootstrap_over_seeds_and_the_caption_tells_rows_apart():
    seeds = [line("sync", "success", value, seed) for seed, value in enumerate((0.6, 0.7, 0.8))]
    table = make_table([*seeds, ONE_SEED[2]], "unseen rooms", ("success",))
    assert "| sync | 0.700 [0.600, 0.800] |" in table.markdown()
    assert (
        "sync: over 3 seeds (bootstrap), 100 episodes a seed; marginal: over 100 episodes of one seed" in table.caption
    )


def test_a_number_without_an_interval_says_so():
    table = make_table(
        [line("marginal", "value_against_adversary", -0.6569)], "unseen rooms", ("value_against_adversary",)
    )
    assert "| marginal | -0.657 |" in table.markdown()
    assert "one seed, none" in table.caption


@pytest.mark.parametrize("low", [-0.123, 0.123])
@pytest.mark.parametrize("method", ["marginal", "sync_13_cordial", "no_communication_cordial"])
def test_headings_and_numbers_stay_whole_in_a_terminal_of_80_columns(method, low):
    lines = [line(method, metric, 0.7, low=low, high=0.8) for metric in FURNITURE_METRICS]
    stream = io.StringIO()
    Console(file=stream, width=80).print(make_table(lines, "unseen rooms").for_terminal())
    assert all(word in stream.getvalue() for metric in FURNITURE_METRICS for word in metric.split("_"))
    assert "…" not in stream.getvalue()
    assert max(map(len, stream.getvalue().splitlines())) <= 80


def test_splits_are_never_averaged_together():
    table = make_table([line("sync", "success", 0.9, split="train"), line("sync", "success", 0.7)], "unseen rooms")
    assert [label for label, _ in table.rows] == ["sync · train", "sync · test"]


def test_an_unknown_table_is_one_sentence_that_lists_the_known():
    with pytest.raises(UserError, match="unseen rooms"):
        make_table(ONE_SEED, "table 9")


def test_the_file_and_the_terminal_show_the_same_numbers(tmp_path):
    table = make_table(ONE_SEED, "unseen rooms", ("success",))
    write_tables(tmp_path / "table.md", [table, table])
    assert (tmp_path / "table.md").read_text().count("0.750 [0.700, 0.800]") == 2
    stream = io.StringIO()
    Console(file=stream, width=100).print(table.for_terminal())
    assert "0.750" in stream.getvalue()
    assert "[0.700, 0.800]" in stream.getvalue()
