"""What all configurations have in common is declared once, and each experiment gives it defaults of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.training_config import ExperimentConfig, StagedExperimentConfig, TrainingConfig


@dataclass(frozen=True, kw_only=True)
class Game(ExperimentConfig, methods=("ours",), workers=Workers(worlds_per_runner=3), budget_env_steps=70):
    """A configuration as experiments write it."""

    width: int = 4
    """Number of units of the only layer."""


@dataclass(frozen=True, kw_only=True)
class Staged(Game, StagedExperimentConfig, budget_env_steps=80, first_stage_env_steps=90):
    """One with two bases."""


def test_defaults_of_inherited_fields_are_arguments_of_the_class():
    assert (Game().budget_env_steps, Game().workers.worlds_per_runner, Game().methods) == (70, 3, ("ours",))
    assert (Staged().budget_env_steps, Staged().first_stage_env_steps, Staged().workers) == (80, 90, Game().workers)
    assert TrainingConfig(methods=("a",)).budget_env_steps != 70


def test_a_default_of_a_field_that_is_not_inherited_is_refused():
    with pytest.raises(TypeError, match="budget_steps"):

        class Wrong(ExperimentConfig, budget_steps=5):
            pass


def test_inherited_fields_keep_their_checks():
    with pytest.raises(UserError, match=r"--budget-env-steps.* 0"):
        Game(budget_env_steps=0)


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
