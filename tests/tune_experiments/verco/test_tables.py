"""What is told at the end of runs in the kitchens: tables of a task, of its orders, and over several kitchens."""

import dataclasses
import os

import pytest

from tune_experiments.core.errors import UserError
from tune_experiments.results.rows import Result, write
from tune_experiments.verco.combined_table import combined, read_kitchens
from tune_experiments.verco.combined_table import main as combined_command
from tune_experiments.verco.evaluation import evaluate
from tune_experiments.verco.tables import tables
from tune_experiments.verco.trials import plan
from tune_experiments.verco_salad import SMOKE


def line(method, world, value, seed=0, metric="success", condition=""):
    rest = ("test", seed, metric, value, value, value, 10, 7)
    return Result("x", "c", method, world, *rest, condition=condition)


def test_the_table_names_ablations_after_their_team_and_has_each_baseline_once():
    lines = [line("verco", "tomato_b", 0.5 + seed, seed) for seed in (0, 1)]
    lines += [line("verco", "tomato_b", 0.25, seed, condition="in silence") for seed in (0, 1)]
    lines += [line("random", "tomato_b", 0.125, None)]
    (table,) = tables(lines, "caption")
    assert table.title == "caption: tomato_b"
    rows = {label: cells[1].value for label, cells in table.rows}
    assert rows == {"verco": 1.0, "verco in silence": 0.25, "random": 0.125}


def test_kitchens_with_several_orders_are_tested_by_order_too():
    config = dataclasses.replace(SMOKE, task="secret_order", max_episode_steps=0, test_episodes=12)
    for world, episodes in evaluate(config, plan(config, "symbolic_ppo", 0).build_policy()).items():
        assert "recipe" not in episodes
        served = [episodes[f"success_of_{order}"] for order in ("tomato", "lettuce", "onion")]
        assert sum(map(len, served)) == 12 and min(map(len, served)) > 0
        assert sum(map(sum, served)) == episodes["success"].sum(), world
        assert sum(episodes[f"return_of_{order}"].sum() for order in ("tomato", "lettuce", "onion")) == pytest.approx(
            episodes["return"].sum()
        )


def test_orders_have_a_table_of_their_own():
    lines = [line("verco", "secret_order", 0.5), line("verco", "secret_order", 0.75, metric="success_of_onion")]
    whole, orders = tables(lines, "caption")
    assert orders.title == "caption: secret_order, by order" and orders.metrics == ("success_of_onion",)
    assert orders.rows[0][1][0].value == 0.75 and "success_of_onion" not in whole.metrics


def test_one_table_over_all_kitchens_has_medians_and_the_band_of_half_the_seeds():
    lines = [line("verco", "tomato_a", value, seed) for seed, value in enumerate((0.0, 0.2, 0.4, 0.6, 1.0))]
    lines += [line("verco", "secret_order", 0.5), line("verco", "secret_order", 0.25, metric="success_of_onion")]
    lines += [line("random", "tomato_a", 0.125, None)]
    lines += [line("verco", "secret_order", 0.1, condition="in silence")]
    text = combined(lines).splitlines()
    assert text[0] == "| method | tomato_a: success | secret_order: success |"
    assert text[2] == "| verco | 0.400 [0.200, 0.600] | 0.500 |"
    assert text[3] == "| verco in silence |  | 0.100 |"
    assert text[4] == "| random | 0.125 |  |"
    assert text[6] == "| method | secret_order: success of onion |" and text[8] == "| verco | 0.250 |"


def test_the_table_over_kitchens_is_made_of_the_runs_in_a_folder(tmp_path, monkeypatch, capsys):
    for number, task in enumerate(("tomato_b", "tomato_a")):
        (tmp_path / task).mkdir()
        write(tmp_path / task / "results.jsonl", [line("verco", task, number)])
        os.utime(tmp_path / task / "results.jsonl", (number, number))
    monkeypatch.setattr("sys.argv", ["combined", str(tmp_path)])
    combined_command()
    assert "| verco | 0.000 | 1.000 |" in (tmp_path / "table.md").read_text()
    assert "| verco | 0.000 | 1.000 |" in capsys.readouterr().out
    combined_command()  # what it has written itself it writes again
    (tmp_path / "table.md").write_text("mine")
    assert combined_command() == 2
    assert (tmp_path / "table.md").read_text() == "mine"
    assert "table.md" in capsys.readouterr().err
    with pytest.raises(UserError, match="tomato_a"):
        read_kitchens(tmp_path / "tomato_a")


def test_a_seed_that_two_runs_of_a_kitchen_share_does_not_count_twice(tmp_path):
    random = line("random", "tomato_a", 0.0, None)
    for name in ("tomato_a", "again"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "results.jsonl", [line("verco", "tomato_a", 1.0), random])
    with pytest.raises(UserError, match="again"):
        read_kitchens(tmp_path)
    write(tmp_path / "again" / "results.jsonl", [line("verco", "tomato_a", 1.0, 1), random])
    assert read_kitchens(tmp_path).count(random) == 1
