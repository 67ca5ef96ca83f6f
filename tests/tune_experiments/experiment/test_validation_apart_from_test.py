"""Validation plays other episodes than the test: other rooms, another split or another seed."""

import dataclasses
from types import SimpleNamespace

import pytest

from rl_models.training.evaluation import Evaluation
from tune_experiments.core.errors import EXIT_CODE
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.overcooked.trials import payoff
from tune_experiments.sama.minirts import trials as rts_trials

EXPERIMENTS = ("endi_messenger", "endi_rtfm", "furnlift", "furnmove_sync", "messenger_emma", "overcooked_roles")
EXPERIMENTS += ("overcooked_selfplay", "train", "rtfm_matching", "rtfm_rock_paper_scissors", "rtfm_txt2pi")
EXPERIMENTS += ("verco_salad",)


class Playing(Exception):
    """An evaluation has begun."""


def first_episode(monkeypatch, function, *arguments):
    """Seed of the first evaluation of a function, and what is seen at its start in the first world."""

    def run(self, seed):
        raise Playing(seed, {key: values[0].tobytes() for key, values in self.world.reset(seed).items()})

    monkeypatch.setattr(Evaluation, "run", run)
    with pytest.raises(Playing) as playing:
        function(*arguments)
    return playing.value.args


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_validation_plays_other_episodes_than_the_test(name, monkeypatch):
    experiment = find_experiment(name)
    config = experiment.presets["smoke"]
    method = config.methods[0]
    made = experiment.plan(config, method, 0)
    plan = made.stages[-1].plan if hasattr(made, "stages") else made
    policy = plan.build_policy()
    validation = first_episode(monkeypatch, plan.validate, policy)
    assert validation != first_episode(monkeypatch, experiment.evaluate, config, method, policy)


def test_coles_payoffs_are_of_validations_episodes(monkeypatch):
    experiment = find_experiment("overcooked_selfplay")
    config = experiment.presets["smoke"]
    plan = experiment.plan(config, "cole", 0)
    team = plan.build_policy()
    found = first_episode(monkeypatch, payoff, config, team, team)
    assert found == first_episode(monkeypatch, plan.validate, team)


@pytest.mark.parametrize("name", ["overcooked_selfplay", "train", "red_minirts", "sama_overcooked", "verco_salad"])
def test_no_trial_trains_with_a_seed_of_validation_or_test_where_a_game_has_no_splits(name, tmp_path, capsys):
    experiment = find_experiment(name)
    seeds = experiment.evaluation_seeds(experiment.presets["smoke"])
    assert len(seeds) == 2
    for seed in seeds:
        words = ["--preset", "smoke", "--out", str(tmp_path / "run"), "--seeds", "0", str(seed)]
        assert main(experiment, words) == EXIT_CODE
        assert f"--seeds {seed}: " in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_seed_of_the_test_that_a_flag_names_is_refused_and_the_presets_is_free_then(tmp_path, capsys):
    experiment = find_experiment("red_minirts")
    words = ["--preset", "smoke", "--out", str(tmp_path / "run"), "--seeds", "7", "--test-seed", "7"]
    assert main(experiment, words) == EXIT_CODE
    assert "--seeds 7: " in capsys.readouterr().err
    config = dataclasses.replace(experiment.presets["smoke"], test_seed=7)
    assert 42 not in experiment.evaluation_seeds(config)


def test_a_seed_whose_test_games_a_tested_team_was_trained_on_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rts_trials, "load_policy", lambda path: SimpleNamespace(seed=43))
    flags = ["--methods", "learned_2", "--team", str(tmp_path), "--out", str(tmp_path / "run"), "--seeds", "0", "1"]
    assert main(find_experiment("sama_minirts"), ["--preset", "smoke", *flags]) == EXIT_CODE
    assert "--seeds 1: " in capsys.readouterr().err
