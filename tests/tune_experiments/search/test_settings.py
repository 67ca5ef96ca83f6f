"""Rules of a search: what is drawn, how it is ranked, and which folder belongs to it."""

import json
import math
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
from ray import tune

from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.folder import (
    Ranked,
    claim_for_search,
    rank,
    refuse_search_folder,
    score,
    write_ranking,
)
from tune_experiments.search.run_search import _verdict
from tune_experiments.search.scheduler import late_value, value_between
from tune_experiments.search.settings import Setting, draw_settings


@dataclass(frozen=True)
class Family:
    learning_rate: float = 0.01


@dataclass(frozen=True)
class Config:
    marginal: Family = Family()
    sync: Family = Family()
    algorithm: str = "ppo"
    joint_ratio: bool = True
    epochs: int = 2

    def __post_init__(self):
        if self.epochs > 4:
            raise UserError("--epochs must be at most 4")


def uses(config, method, path):
    """An experiment's rule: a learning rate for each method, and epochs only with PPO."""
    if path.endswith("learning_rate"):
        return path.startswith(method)
    return path != "epochs" or config.algorithm == "ppo"


SPACE = SearchSpace(
    {
        "algorithm": tune.grid_search(["ppo", "impala"]),
        "joint_ratio": tune.grid_search([True, False]),
        "epochs": tune.choice([1, 2, 3, 4]),
        "marginal.learning_rate": tune.loguniform(1e-4, 1e-1),
        "sync.learning_rate": tune.loguniform(1e-4, 1e-1),
    },
    uses,
)


def draw(method="sync", count=6, seed=0, config=None, space=SPACE):
    return draw_settings(space, config or Config(), method, count, seed)


# ------------------------------------------------------------------------------------------------------------- drawing


def test_the_first_setting_is_the_configuration_itself():
    config = Config(sync=Family(0.5), algorithm="impala")
    first, second = draw(count=2, config=config)
    assert first.config == config
    assert first.values == {"algorithm": "impala", "joint_ratio": True, "sync.learning_rate": 0.5}
    assert second.config != config


def test_the_seed_decides_what_is_drawn():
    assert draw(seed=3) == draw(seed=3)
    assert [one.values for one in draw(seed=3)][1:] != [one.values for one in draw(seed=4)][1:]


def test_a_longer_search_begins_with_the_shorter_one():
    assert draw(count=12)[:5] == draw(count=5)


def test_methods_that_share_a_path_try_the_same_values_there():
    shared = ("algorithm", "joint_ratio", "epochs")
    ours, theirs = (
        [[one.values.get(path) for path in shared] for one in draw(method)] for method in ("sync", "marginal")
    )
    assert ours == theirs


def test_what_a_method_does_not_use_keeps_its_value():
    for one in draw("sync", count=12):
        assert one.config.marginal == Family()
        assert "marginal.learning_rate" not in one.values
        assert ("epochs" in one.values) == (one.config.algorithm == "ppo")
        if one.config.algorithm == "impala":
            assert one.config.epochs == 2


def test_all_combinations_of_a_grid_are_tried_equally_often():
    tried = [(one.config.algorithm, one.config.joint_ratio) for one in draw(count=12)]
    assert sorted(tried) == sorted(3 * list(product(["ppo", "impala"], [True, False])))


def test_numbers_lie_in_their_range_and_are_short_enough_to_be_typed():
    for one in draw(count=50)[1:]:
        rate = one.config.sync.learning_rate
        assert 1e-4 <= rate <= 1e-1
        assert float(f"{rate:.3g}") == rate


def test_no_two_settings_of_a_method_are_alike():
    space = SearchSpace({"epochs": tune.choice([1, 2, 3])})
    assert sorted(one.config.epochs for one in draw(count=3, space=space)) == [1, 2, 3]
    with pytest.raises(UserError, match="sync has 3 different settings in the search space; lower --search to that"):
        draw(count=4, space=space)


@pytest.mark.parametrize(
    ("domain", "said"),
    [(tune.choice([9]), "--epochs must be at most 4"), (tune.uniform(0, 1), "must be a whole number")],
)
def test_a_draw_that_the_configuration_refuses_is_told(domain, said):
    with pytest.raises(UserError, match=said):
        draw(space=SearchSpace({"epochs": domain}))


# ------------------------------------------------------------------------------------------------------------- ranking


def trial(folder, rows):
    folder.mkdir(exist_ok=True)
    lines = [
        json.dumps({"env_steps": steps} | ({} if value is None else {"valid/success": value})) for steps, value in rows
    ]
    (folder / "metrics.jsonl").write_text("".join(line + "\n" for line in lines))
    return folder


def test_a_score_is_the_mean_of_the_validations_in_the_last_quarter(tmp_path):
    rows = [(100, 0.9), (740, 0.9), (760, 0.2), (800, None), (900, 0.4), (1000, 0.6), (1000.5, None)]
    assert score(trial(tmp_path, rows[:-1]), "valid/success") == pytest.approx(0.4)
    assert score(trial(tmp_path, [(500, 0.9), (1000, 0.1)]), "valid/success") == 0.1


def test_the_last_rung_is_judged_as_a_search_without_rungs_is(tmp_path):
    folder = trial(tmp_path, [(250, 0.0), (500, 0.0), (750, 0.0), (1000, 1.0)])
    assert late_value(folder, "valid/success", 1000) == score(folder, "valid/success") == 0.5
    assert value_between(folder, "valid/success", 750, 1000) == 1.0  # a generation's own validations


def test_an_objective_that_was_not_logged_is_told(tmp_path):
    with pytest.raises(UserError, match="has logged no 'valid/win_rate' to rank by"):
        score(trial(tmp_path, [(1, 0.5)]), "valid/win_rate")


def ranked(number, *scores):
    return Ranked(Setting(number, Config(), {"epochs": number}), dict(enumerate(scores)), ("--epochs", str(number)))


def test_the_best_mean_over_seeds_is_first_and_a_tie_goes_to_the_earlier():
    order = rank([ranked(2, 0.5, 0.5), ranked(0, 0.25, 0.75), ranked(1, 0.9, 0.2), ranked(3, 0.0, 0.9)])
    assert [one.setting.number for one in order] == [1, 0, 2, 3]


@pytest.mark.parametrize("diverged", [math.nan, math.inf])
def test_a_trial_that_diverged_is_last(diverged):
    assert [one.setting.number for one in rank([ranked(0, diverged, 1.0), ranked(1, -5.0, -5.0)])] == [1, 0]


def test_the_ranking_is_written_for_people_and_programs(tmp_path):
    ranking = {"sync": [ranked(1, 0.5), ranked(0, math.nan)], "marginal": []}
    write_ranking(tmp_path, "A table", "valid/success", ranking, "tune_experiments/x.py")
    rows = [
        json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "search.jsonl").read_text().splitlines()
    ]
    assert [(row["method"], row["rank"], row["setting"], row["value"]) for row in rows] == [
        ("sync", 1, 1, 0.5),
        ("sync", 2, 0, None),
    ]
    assert rows[0]["parameters"] == {"epochs": 1}
    assert rows[0]["flags"] == ["--epochs", "1"]
    report = (tmp_path / "search.md").read_text()
    assert "| 1 | 1 | 0.5000 | 1 |" in report
    assert "python tune_experiments/x.py --epochs 1\n" in report


def member(number, seed, score):
    return Ranked(Setting(number, Config(), {"epochs": 2}), {seed: score}, ())


def test_a_winner_is_compared_with_setting_0_of_its_own_seeds_and_not_with_itself():
    def first_line(*found, tried=4, script="-m x"):
        return _verdict("sync", rank(found), tried, "valid/success", script, Path("trials"))[0]

    assert first_line(member(0, 1, 0.5), member(0, 0, 0.25), member(1, 0, 0.0), member(1, 1, 0.0)) == (
        "sync: setting 0 of seed 1 is the best of 4: valid/success 0.5000"
    )
    population = [member(1, 1, 0.5), member(0, 0, 0.25), member(0, 1, 0.125), member(1, 0, 0.0)]
    assert first_line(*population).endswith(
        "setting 1 of seed 1 is the best of 4: valid/success 0.5000, setting 0 has 0.1250"
    )
    assert first_line(ranked(1, 0.5), ranked(0, 0.25), tried=2).endswith(
        ": setting 1 is the best of 2: valid/success 0.5000, setting 0 has 0.2500"
    )


def test_a_winner_of_asha_is_the_best_of_all_that_were_tried():
    (line, _) = _verdict("sync", [ranked(0, 0.5)], 4, "valid/success", "-m x", Path("trials"))
    assert line == "sync: setting 0 is the best of 4 (1 reached the last rung): valid/success 0.5000"


def test_the_report_of_populations_says_which_seed_a_row_is_of(tmp_path):
    ranking = {"sync": [member(0, 1, 0.5), member(0, 0, 0.25)]}
    write_ranking(tmp_path, "A table", "valid/success", ranking, None)
    report = (tmp_path / "search.md").read_text()
    assert "| rank | setting | seed | valid/success | epochs |" in report
    assert "| 1 | 0 | 1 | 0.5000 | 2 |" in report and "| 2 | 0 | 0 | 0.2500 | 2 |" in report
    assert "of the last generation. Each seed is a population" in report and "over seeds" not in report


# -------------------------------------------------------------------------------------------------------------- folder


@pytest.fixture
def out(tmp_path):
    (tmp_path / "trials").mkdir()
    return tmp_path


def claim(out, count=3, seed=0, config=None, objective="valid/success", by="random"):
    drawn = {method: draw(method, count, seed, config) for method in ("sync", "marginal")}
    claim_for_search(out, drawn, seed, objective, by)


def test_a_search_is_continued_and_may_become_longer(out):
    claim(out, 3)
    (out / "trials" / "sync-setting00-seed0").mkdir()
    claim(out, 3)
    claim(out, 5)
    longest = (out / "search.json").read_text()
    claim(out, 2)
    assert (out / "search.json").read_text() == longest
    assert [len(drawn) for drawn in json.loads(longest)["settings"].values()] == [5, 5]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, r"search_seed: 0 -> 1"),
        ({"objective": "valid/return", "by": "asha"}, r"objective: 'valid/success' -> 'valid/return'"),
        ({"config": Config(epochs=4)}, r"settings.sync.0.epochs: 2 -> 4"),
    ],
)
def test_another_search_is_refused_with_the_difference(out, changes, said):
    claim(out, by=changes.get("by", "random"))
    before = (out / "search.json").read_text()
    with pytest.raises(UserError, match=f"was started as another search \\({said}"):
        claim(out, **changes)
    assert (out / "search.json").read_text() == before


def test_the_objective_of_a_search_that_is_ranked_at_its_end_may_be_corrected(out):
    claim(out)
    claim(out, objective="valid/return")
    assert json.loads((out / "search.json").read_text())["objective"] == "valid/return"


def test_runs_and_searches_do_not_share_a_folder(out):
    refuse_search_folder(out)
    (out / "trials" / "sync-seed0").mkdir()
    with pytest.raises(UserError, match="holds a run that is not a search; give --out another folder"):
        claim(out)
    (out / "trials" / "sync-seed0").rmdir()
    claim(out)
    with pytest.raises(UserError, match="holds a search; repeat its --search to continue it"):
        refuse_search_folder(out)


# -------------------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--search", "0"], "--search must be at least 1, not 0"),
        (["--search", "many"], "--search must be a whole number or None, not 'many'"),
        (["--search", "2", "--search-seed", "-1"], "--search-seed must be at least 0, not -1"),
        (["--search-seed", "1"], "--search-seed belongs to a search"),
        (["--searches", "3"], "unknown flag --searches; did you mean --search?"),
    ],
)
def test_wrong_arguments_are_told(words, said):
    with pytest.raises(UserError, match=said):
        parse({"laptop": Config()}, words, "")


def test_a_search_leaves_the_configuration_alone():
    config, options = parse({"laptop": Config()}, ["--search", "12", "--epochs", "3"], "")
    assert (config, options.search, options.search_seed) == (replace(Config(), epochs=3), 12, 0)
