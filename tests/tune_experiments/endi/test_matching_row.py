"""The row `matching` of EnDi in RTFM: the mention-matching reader for teams, with a learner of its own."""

import dataclasses

import numpy as np
import pytest

from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tune_experiments.endi.rtfm_trials import plan
from tune_experiments.experiment.finding import find_experiment

PRESETS = find_experiment("endi_rtfm").presets
LAPTOP, SMOKE = PRESETS["laptop"], PRESETS["smoke"]


def test_it_learns_with_its_own_settings_from_the_reward_of_each_agent():
    (stage,) = plan(LAPTOP, "matching", 0).stages
    assert (stage.plan.workers.worlds, stage.plan.workers.fragment_length) == (128, 16)
    assert stage.plan.budget_env_steps == 250_000
    assert not stage.plan.objective.is_joint and stage.plan.objective.extra_losses == ()


@pytest.mark.parametrize("agents", [2, 3])
@pytest.mark.parametrize("shares_network", [True, False])
def test_teams_of_every_size_train_in_every_stage(shares_network, agents):
    settings = dataclasses.replace(SMOKE.matching, shares_network=shares_network)
    task = dataclasses.replace(SMOKE.task, num_agents=agents)
    stages = plan(dataclasses.replace(SMOKE, matching=settings, task=task), "matching", 0).stages
    budgets = [stage.plan.budget_env_steps for stage in stages]
    assert budgets == [settings.budget_env_steps, SMOKE.budget_env_steps]
    for stage in stages:
        policy = stage.plan.build_policy()
        assert policy.num_agents == agents and hasattr(policy.network, "members") != shares_network
        collector = Collector(stage.plan.make_world(num_worlds=8, first_world=0), policy, 6)
        collector.reset(0)
        statistics = Learner(policy, stage.plan.objective, stage.plan.optimiser).update([collector.collect()])
        assert np.isfinite(float(statistics["loss/total"]))
