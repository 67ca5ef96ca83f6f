"""Rules of tables: our numbers with the right kind of interval, the paper's beside them, from results alone."""

import dataclasses
import io

import pytest
from rich.console import Console

from tune_experiments.results.intervals import STUDENT_EPISODES, WILSON
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import make_table


def line(method, metric, value, seed=0, low=None, high=None, split="test"):
    interval, highest = (WILSON, 1.0) if metric == "success" else (STUDENT_EPISODES, None)
    rest = (split, seed, metric, value, low, high, 100, 5000, interval)
    return Result("furnmove_sync", "unseen rooms", method, "furnmove-v0", *rest, bounds=(0.0, highest))


METRICS = ("md_spl", "success", "episode_length", "final_distance", "invalid_probability", "tvd")
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
        "Intervals of 95 %: over 100 episodes of one seed (shares by Wilson, means by Student's t)."
        " Tested after 5,000 env steps of training.",
    ]


def test_the_caption_says_what_training_cost_each_method_as_a_mean_over_seeds():
    """The last stage of a trial counts those before it, and methods without training have no cost."""
    seeds = [line("sync", "success", 0.7, seed) for seed in (0, 1)]
    early = dataclasses.replace(seeds[0], cpu_seconds=9.0, world="warm start")
    late = [dataclasses.replace(one, cpu_seconds=seconds) for one, seconds in zip(seeds, (100.0, 1101.0), strict=True)]
    fixed = dataclasses.replace(ONE_SEED[2], env_steps=None, cpu_seconds=None)
    caption = make_table([early, *late, fixed], "unseen rooms", ("success",)).caption
    assert "5,000" in caption and caption.endswith(": 600.")
    others = [dataclasses.replace(late[0], method=method, cpu_seconds=n) for method, n in (("b", 601.0), ("c", 7.0))]
    caption = make_table([*late, *others], "unseen rooms", ("success",)).caption
    assert caption.endswith(": sync 600; b 601; c 7.")


def test_several_seeds_show_students_t_and_the_caption_tells_rows_apart():
    seeds = [line("sync", "success", value, seed) for seed, value in enumerate((0.69, 0.7, 0.71))]
    table = make_table([*seeds, ONE_SEED[2]], "unseen rooms", ("success",))
    assert "| sync | 0.700 [0.675, 0.725] |" in table.markdown()
    assert "3 seeds" in table.caption and "marginal" in table.caption


def test_the_caption_of_chosen_rows_tells_of_these_alone():
    seeds = [line("sync", "success", value, seed) for seed, value in enumerate((0.69, 0.7, 0.71))]
    table = make_table([*seeds, ONE_SEED[2]], "unseen rooms", ("success",))
    noted = dataclasses.replace(table, caption=f"{table.caption} A note.").with_rows({"sync"})
    assert noted.caption == f"{make_table(seeds, 'unseen rooms', ('success',)).caption} A note."
    assert [label for label, _ in noted.rows] == ["sync"]


def test_the_caption_names_metrics_of_fewer_seeds_or_episodes_and_no_interval_that_is_not_shown():
    seeds = [line("sync", "success", value, seed) for seed, value in enumerate((0.69, 0.7, 0.71))]
    lengths = [dataclasses.replace(line("sync", "episode_length", 30.0 + seed, seed), n_episodes=40) for seed in (0, 1)]
    caption = make_table([*seeds, *lengths], "unseen rooms").caption
    assert "3 (episode_length: 2) seeds" in caption and "100 (episode_length: 40) episodes" in caption
    beyond = line("random", "episode_length", 0.1, None, low=-3.0, high=3.2)
    assert "one seed, none" in make_table([beyond], "unseen rooms").caption


def test_seeds_that_differ_by_less_than_three_digits_are_no_equal_seeds():
    seeds = [line("sync", "success", value, seed) for seed, value in enumerate((0.99993, 1.0))]
    assert "| 1.0000 (0.9999 to 1.0000) |" in make_table(seeds, "unseen rooms", ("success",)).markdown()


def test_an_interval_over_episodes_that_leaves_the_range_of_the_metric_is_not_shown():
    for seed in (0, None):
        beyond = [line("random", "episode_length", 0.03, seed, low=-0.004, high=0.064)]
        assert "| random | 0.030 |" in make_table(beyond, "unseen rooms", ("episode_length",)).markdown()


def drawn(table, width):
    """The lines of a table on a terminal."""
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    console.print(table.for_terminal(console.width), crop=False)
    return stream.getvalue().splitlines()


MANY_METRICS = (*METRICS, *(f"win_rate_on_stage_{stage}" for stage in range(12)))


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("metrics", [METRICS, MANY_METRICS])
@pytest.mark.parametrize("low", [0.001, 0.123])
@pytest.mark.parametrize("method", ["marginal", "no_communication_cordial_of_three"])
def test_names_and_intervals_stay_whole_at_every_width(method, low, metrics, width):
    lines = [line(method, metric, 0.7, low=low, high=0.8) for metric in metrics]
    paper = {method: {"success": 0.123, "tvd": 0.456}}
    shown = drawn(make_table(lines, "unseen rooms", metrics, paper), width)
    words = " ".join(shown).replace(",", " ").split()
    assert set(metrics) <= set(words) and method in words
    assert "\n".join(shown).count(f"[{low:.3f}, 0.800]") == len(metrics)
    assert {"0.123", "0.456"} <= set(words)
    assert "…" not in "".join(shown)
    assert max(map(len, shown)) <= width


def test_splits_are_never_averaged_together():
    table = make_table([line("sync", "success", 0.9, split="train"), line("sync", "success", 0.7)], "unseen rooms")
    assert [label for label, _ in table.rows] == ["sync · train", "sync · test"]
