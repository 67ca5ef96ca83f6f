"""What all configurations have in common is declared once, and each experiment gives it defaults of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.training_config import ExperimentConfig


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
    stages = experiment.plan(replace(experiment.presets["smoke"], **changes), method, 0).stages
    teams = [stage.plan.build_policy().state_dict() for stage in stages]
    assert len(teams) > 1
    assert all({n: w.shape for n, w in team.items()} == {n: w.shape for n, w in teams[0].items()} for team in teams)
