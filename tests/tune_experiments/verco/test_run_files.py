"""A team carries the small model that it learned on, and its adapters leave in peft's format."""

import dataclasses
import json

import numpy as np
import pytest
from transformers import AutoModelForCausalLM

import rl_models.teams.llm_team as language_teams
from rl_models.llm.base_model import LanguageModelError
from tune_experiments.__main__ import main
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.loading import load_policy
from tune_experiments.run.run_folder import LANGUAGE_MODEL
from tune_experiments.run.trial import Trial
from tune_experiments.verco import replay
from tune_experiments.verco.evaluation import make_world, play_team
from tune_experiments.verco.replay import save_model
from tune_experiments.verco_salad import EXPERIMENT, SMOKE

CONFIG = dataclasses.replace(SMOKE, methods=("base",), test_episodes=2, valid_episodes=2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a trial that is over."""
    folder = tmp_path_factory.mktemp("run") / "trials" / trial_name("base", 0)
    Trial(EXPERIMENT, CONFIG, "base", 0, folder).run(lambda row: None)
    return folder


def test_a_model_that_plays_as_it_was_given_was_trained_for_no_env_steps(trained):
    assert load_policy(trained).env_steps == 0


@pytest.mark.long
def test_a_team_is_opened_with_the_model_beside_it_where_the_cache_holds_none(trained, monkeypatch):
    here = play_team(make_world(CONFIG, 4), load_policy(trained).policy)
    monkeypatch.setattr(language_teams, "small_model", _none)
    elsewhere = play_team(make_world(CONFIG, 4), load_policy(trained).policy)
    for name, values in here.items():
        np.testing.assert_array_equal(values, elsewhere[name])


def test_a_team_without_the_model_beside_it_falls_back_on_the_cache(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(language_teams, "small_model", _none)
    with pytest.raises(UserError, match="asked for"):
        EXPERIMENT.plan(CONFIG, "base", 0, tmp_path).build_policy()


def test_a_trial_that_goes_on_keeps_the_model_that_it_began_with(trained):
    before = (trained / LANGUAGE_MODEL / "model.safetensors").read_bytes()
    save_model(dataclasses.replace(CONFIG, corpus=dataclasses.replace(CONFIG.corpus, env_steps=6)), "verco", trained)
    assert (trained / LANGUAGE_MODEL / "model.safetensors").read_bytes() == before


def test_a_trial_that_goes_on_elsewhere_needs_no_model_of_that_machine(trained, monkeypatch):
    monkeypatch.setattr(replay, "small_model", _none)
    save_model(CONFIG, "verco", trained)


@pytest.mark.parametrize(("method", "model"), [("symbolic_ppo", ""), ("api", ""), ("verco", "somebody/model")])
def test_teams_without_a_small_model_keep_none(method, model, tmp_path):
    save_model(dataclasses.replace(CONFIG, model=model), method, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_exported_adapters_are_read_by_peft_and_by_another_run(trained, tmp_path, capsys):
    from peft import PeftModel

    out = tmp_path / "adapters"
    assert main(["export-adapters", str(trained), "--out", str(out)]) == 0
    assert str(out / "message") in "".join(capsys.readouterr().out.split())
    told = json.loads((out / "action" / "adapter_config.json").read_text())
    assert told["base_model_name_or_path"] == str(trained / LANGUAGE_MODEL)
    base = AutoModelForCausalLM.from_pretrained(told["base_model_name_or_path"])
    theirs = PeftModel.from_pretrained(base, out / "action").state_dict()
    ours = load_policy(trained).policy.network.language.action
    drawn = sorted(float(weight.detach().abs().sum()) for weight in ours.values())
    assert drawn == sorted(float(weight.abs().sum()) for name, weight in theirs.items() if "lora_" in name)
    assert max(drawn) > 0
    run = dataclasses.replace(CONFIG, model=str(trained / LANGUAGE_MODEL))
    run = dataclasses.replace(run, team=dataclasses.replace(run.team, adapters=str(out)))
    own, other = load_policy(trained).policy.state_dict(), EXPERIMENT.plan(run, "base", 0).build_policy().state_dict()
    for name in own:
        if "message" in name or "action" in name:
            np.testing.assert_array_equal(own[name], other[name])
    assert main(["export-adapters", str(trained), "--out", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err


def _none(*_):
    raise LanguageModelError("the cache was asked for a model")
