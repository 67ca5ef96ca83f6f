"""Population based training of self-play: what it varies, and that losers really go on from winners, through Tune."""

import json

import pytest

from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint
from tune_experiments.core.config_path import replaced, value_at
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.overcooked.trials import plan
from tune_experiments.overcooked_crossplay import main as crossplay
from tune_experiments.overcooked_selfplay import EXPERIMENT, LAPTOP, PAPER
from tune_experiments.results.trial_log import read_metrics


def training(config):
    trial = plan(config, "selfplay", 0)
    return repr((trial.objective, trial.optimiser))


@pytest.mark.parametrize("path", EXPERIMENT.search_space().domains)
def test_every_constant_that_is_varied_changes_training_and_reaches_the_presets(path):
    domain = EXPERIMENT.search_space().domains[path]
    for config in (LAPTOP, PAPER):
        assert domain.lower <= value_at(config, path) <= domain.upper
        for value in (domain.lower, domain.upper):
            assert training(replaced(config, path, value)) != training(config)


@pytest.mark.slow
def test_losers_go_on_from_winners_with_changed_constants_through_tune(ray_session, tmp_path, monkeypatch):
    monkeypatch.setattr("tune_experiments.search.population.GENERATIONS", 2)
    words = ["--preset", "smoke", "--methods", "selfplay", "--search", "2", "--search-by", "pbt", "--out"]
    assert main(find_experiment("overcooked_selfplay"), [*words, str(tmp_path / "pbt")]) == 0
    (generation,) = json.loads((tmp_path / "pbt/population.json").read_text())["selfplay-seed0"]
    (copy,) = generation["copies"]
    assert generation["is_done"] and {copy["target"], copy["source"]} == {0, 1}
    trials = {number: tmp_path / f"pbt/trials/selfplay-setting0{number}-seed0" for number in (0, 1)}
    target, source = (
        {row["env_steps"]: row for row in read_metrics(trials[copy[who]] / "metrics.jsonl")}
        for who in ("target", "source")
    )
    budget = find_experiment("overcooked_selfplay").presets["smoke"].budget_env_steps
    assert max(target) == max(source) == budget
    rate = value_of(trials[copy["source"]], "learning_rate")
    changed = copy["values"]["learner.learning_rate"]
    assert changed != rate and changed == value_of(trials[copy["target"]], "learning_rate")
    for steps in (steps for steps in target if steps > generation["env_steps"]):
        ratio = target[steps]["schedule/learning_rate"] / source[steps]["schedule/learning_rate"]
        assert ratio == pytest.approx(changed / rate)
    assert " copies " in (tmp_path / "pbt/search.md").read_text()
    assert crossplay([*map(str, trials.values()), "--episodes", "2", "--out", str(tmp_path / "matrix")]) == 0


def value_of(trial, name):
    return load_checkpoint(newest_whole_checkpoint(trial / "checkpoints")).state["config"]["learner"][name]
