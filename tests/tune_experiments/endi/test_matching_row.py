"""Rows of EnDi in RTFM that read with the mention-matching reader, alone and with a divider around it."""

import dataclasses

import pytest

from rl_models.teams.endi_team import divides
from tests.tune_experiments.fragments import update
from tune_experiments.endi.division import is_divided, on_matching
from tune_experiments.endi.rtfm_config import MethodName
from tune_experiments.endi.rtfm_trials import plan
from tune_experiments.experiment.finding import find_experiment

PRESETS = find_experiment("endi_rtfm").presets
LAPTOP, SMOKE = PRESETS["laptop"], PRESETS["smoke"]

DIVIDED = tuple(row for row in MethodName.__args__ if is_divided(row) and on_matching(row))


@pytest.mark.long
@pytest.mark.parametrize(
    ("row", "shares_network", "agents"),
    [("matching", True, 2), ("matching", False, 3), ("endi_dis_matching", True, 3), ("endi_dis_matching", False, 2)],
)
def test_teams_of_every_size_train_in_every_stage(row, shares_network, agents):
    settings = dataclasses.replace(SMOKE.matching, shares_network=shares_network)
    task = dataclasses.replace(SMOKE.task, num_agents=agents)
    stages = plan(dataclasses.replace(SMOKE, matching=settings, task=task), row, 0).stages
    budgets = [stage.plan.budget_env_steps for stage in stages]
    assert budgets == [settings.budget_env_steps, SMOKE.budget_env_steps]
    for stage in stages:
        policy, _ = update(stage.plan, 8)
        assert policy.num_agents == agents and hasattr(policy.network, "members") != shares_network


@pytest.mark.parametrize("row", DIVIDED)
def test_a_divider_changes_the_network_and_the_losses_and_nothing_else(row):
    (backbone,), (divided,) = (plan(LAPTOP, one, 0).stages for one in ("matching", row))
    ours, theirs = (dataclasses.replace(one.plan.objective, extra_losses=()) for one in (divided, backbone))
    assert ours == theirs and divided.plan.optimiser == backbone.plan.optimiser
    assert divided.plan.budget_env_steps == backbone.plan.budget_env_steps
    policy = divided.plan.build_policy()
    assert divides(policy) and not divides(backbone.plan.build_policy())
    reader = backbone.plan.build_policy().network.state_dict()
    assert reader.keys() < policy.network.state_dict().keys()


def test_the_run_says_before_it_begins_whether_dividing_is_expected_to_help():
    experiment = find_experiment("endi_rtfm")
    (ours,) = experiment.main_comparisons(dataclasses.replace(LAPTOP, methods=("matching", *DIVIDED)))
    assert (ours.method, ours.against) == ("endi_dis_matching", "matching")
    weak = ("matching", "endi_dis_weak_modelling_matching")
    (weaker,) = experiment.main_comparisons(dataclasses.replace(LAPTOP, methods=weak))
    assert (weaker.method, weaker.against) == weak[::-1]
    (papers,) = experiment.main_comparisons(dataclasses.replace(LAPTOP, methods=("matching", "txt2pi", "endi_dis")))
    assert (papers.method, papers.against) == ("endi_dis", "txt2pi")
