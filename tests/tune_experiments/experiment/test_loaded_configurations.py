"""A configuration of a stored run, perhaps a stranger's, writes and spends nothing; and what all of them share."""

import dataclasses
import json

import pytest

from rl_models.chat.meter import Budget
from rl_models.errors import InputError
from tests.tune_experiments.experiments import TRAINED
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import leaves, with_overrides
from tune_experiments.experiment.finding import find_experiment, find_stored, trusting
from tune_experiments.experiment.training_config import ExperimentConfig
from tune_experiments.sama.planning import RECORD, make_planner

WRITTEN = ("folder", "record")
"""Names of fields that say where something is written."""


def where_written(config):
    read = {"model.folder"} if getattr(config, "planner", "") == "replay" else set()
    return {
        path: value
        for path, value in leaves(config)
        if path.rpartition(".")[2] in WRITTEN and isinstance(value, str) and path not in read | {"model.chat.record"}
    }


def as_asked(config):
    """The configuration of a run whose planner is a language model behind an endpoint."""
    return dataclasses.replace(config, planner="openai") if hasattr(config, "planner") else config


@pytest.mark.parametrize("name", TRAINED)
def test_a_loaded_configuration_writes_into_no_folder_that_it_names(name, tmp_path):
    experiment = find_experiment(name)
    for path in where_written(experiment.presets["smoke"]):
        stored = with_overrides(as_asked(experiment.presets["smoke"]), {path: str(tmp_path / "chosen")})
        for value in where_written(experiment.as_loaded(stored)).values():
            assert str(tmp_path) not in value, f"{path} is kept"


@pytest.mark.parametrize("name", ["sama_overcooked", "sama_ablations", "sama_minirts"])
def test_a_loaded_configuration_asks_no_endpoint(name):
    experiment = find_experiment(name)
    loaded = experiment.as_loaded(as_asked(experiment.presets["smoke"]))
    assert loaded.planner == "replay"


def test_a_loaded_team_of_a_chat_model_has_our_limits():
    stored = with_overrides(find_experiment("verco_salad").presets["smoke"], {"chat.budget.max_calls": 10**9})
    assert find_experiment("verco_salad").as_loaded(stored).chat.budget == Budget()


def test_rules_are_still_rules_and_may_be_replayed(tmp_path):
    experiment = find_experiment("sama_overcooked")
    stored = dataclasses.replace(experiment.presets["smoke"], replay=str(tmp_path))
    assert experiment.as_loaded(stored).planner == "offline"
    assert experiment.as_loaded(stored).replay == str(tmp_path)


def test_a_planner_whose_record_is_missing_leaves_nothing_behind(tmp_path):
    experiment = find_experiment("sama_overcooked")
    stored = with_overrides(as_asked(experiment.presets["smoke"]), {"model.folder": str(tmp_path / "chosen")})
    with pytest.raises(InputError, match="chosen"):
        make_planner(experiment.as_loaded(stored), "cramped_room", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_planner_that_replays_a_record_writes_nothing_beside_it(tmp_path):
    experiment, record = find_experiment("sama_overcooked"), tmp_path / RECORD
    record.touch()
    stored = with_overrides(as_asked(experiment.presets["smoke"]), {"model.folder": str(tmp_path)})
    make_planner(experiment.as_loaded(stored), "cramped_room", 0)
    assert list(tmp_path.rglob("*")) == [record]


def test_a_runs_own_figures_keep_its_endpoint_and_a_strangers_file_does_not(tmp_path):
    experiment = find_experiment("sama_overcooked")
    stored = as_asked(experiment.presets["smoke"])
    data = json.loads(json.dumps(config_to_json(stored)))
    with trusting(experiment, stored):
        assert find_stored("sama_overcooked", data, (), tmp_path)[1].planner == "openai"
        other = json.loads(json.dumps(config_to_json(dataclasses.replace(stored, test_episodes=7))))
        assert find_stored("sama_overcooked", other, (), tmp_path)[1].planner == "replay"
    assert find_stored("sama_overcooked", data, (), tmp_path)[1].planner == "replay"


def test_a_default_of_a_field_that_is_not_inherited_is_refused():
    with pytest.raises(TypeError, match="budget_steps"):

        class Wrong(ExperimentConfig, budget_steps=5):
            pass


STAGED = {
    "rtfm_curriculum": ("trained_on_10x10", {}),
    "rtfm_matching": ("matching", {"stages": ("simplest", "group", "nl", "dyna", "10x10")}),
    "messenger_emma": ("emma_grounding", {}),
    "endi_messenger": ("endi_dis", {}),
    "endi_rtfm": ("endi_dis", {"stages": (1, 2, 3, 4, 5)}),
    "endi_three_agents": ("endi_dis", {"stages": (1, 2)}),
}


@pytest.mark.parametrize("name", STAGED)
def test_every_weight_is_handed_from_stage_to_stage(name):
    experiment, (method, changes) = find_experiment(name), STAGED[name]
    stages = experiment.plan(dataclasses.replace(experiment.presets["smoke"], **changes), method, 0).stages
    teams = [stage.plan.build_policy().state_dict() for stage in stages]
    assert len(teams) > 1
    assert all({n: w.shape for n, w in team.items()} == {n: w.shape for n, w in teams[0].items()} for team in teams)
