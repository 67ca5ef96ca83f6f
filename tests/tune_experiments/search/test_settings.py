"""Rules of a search: what is drawn, how it is ranked, and which folder belongs to it."""

import json
import math
from dataclasses import dataclass
from itertools import product

import pytest
from ray import tune

from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.trial_log import score
from tune_experiments.search.folder import Ranked, rank, write_ranking
from tune_experiments.search.settings import Setting, all_settings, draw_settings


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
    widths: tuple[int, ...] = (8,)

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


def test_a_grid_is_every_combination_once_after_the_configuration_itself():
    space = SearchSpace({"epochs": tune.grid_search([2, 4]), "algorithm": tune.choice(["ppo", "impala"])})
    settings = all_settings(space, Config(), "sync")
    assert settings[0].config == Config()
    assert sorted((one.values["epochs"], one.values["algorithm"]) for one in settings) == [
        (2, "impala"),
        (2, "ppo"),
        (4, "impala"),
        (4, "ppo"),
    ]
    assert [one.number for one in settings] == list(range(4))


def test_no_two_settings_of_a_method_are_alike():
    space = SearchSpace({"epochs": tune.choice([1, 2, 3])})
    assert sorted(one.config.epochs for one in draw(count=3, space=space)) == [1, 2, 3]
    with pytest.raises(UserError, match=r"sync has 3 .*--search"):
        draw(count=4, space=space)


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


def test_the_score_of_a_generation_is_of_the_weights_that_it_has(tmp_path):
    folder = trial(tmp_path, [(300, 0.0), (344, 5.0), (400, 90.0), (512, 100.0)])  # it took over others' at 344
    assert score(folder, "valid/success", since=342) == 95.0
    assert score(folder, "valid/success", since=513) == 100.0
    assert score(folder, "valid/success", since=0) == pytest.approx(48.75)


def test_an_objective_that_was_not_logged_is_told(tmp_path):
    with pytest.raises(UserError, match="valid/win_rate"):
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
    write_ranking(tmp_path, "A table", "valid/success", ranking, "By chance.", "tune_experiments/x.py")
    rows = [
        json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "search.jsonl").read_text().splitlines()
    ]
    assert [(row["method"], row["rank"], row["setting"], row["value"]) for row in rows] == [
        ("sync", 1, 1, 0.5),
        ("sync", 2, 0, None),
    ]
    assert rows[0]["parameters"] == {"epochs": 1}
    assert rows[0]["flags"] == ["--epochs", "1"]
    assert "python tune_experiments/x.py --epochs 1\n" in (tmp_path / "search.md").read_text()
