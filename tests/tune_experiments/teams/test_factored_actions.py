"""Rows of `concord train` where actions have several parts or are numbers."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rl_models.algorithms.impala import Impala
from rl_models.batch import chosen_actions, forward, to_batch
from rl_models.schedule import Progress
from rl_models.training.loop import Learner
from tests.rl_envs.wrappers.test_factored_actions import Mixed
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments import fragments
from tune_experiments.core.errors import UserError
from tune_experiments.teams.trials import build_policy, plan, play
from tune_experiments.train import EXPERIMENT, SMOKE

HERE = "tests.rl_envs.wrappers.test_factored_actions"
MIXED = dataclasses.replace(SMOKE, env=f"{HERE}:Mixed")
LEAVING = dataclasses.replace(SMOKE, env=f"{HERE}:OneLeaves", agents_leave=True)
NUMBERS = dataclasses.replace(SMOKE, env=f"{__name__}:numbers")
CHOICES = dataclasses.replace(SMOKE, env=f"{__name__}:choices")
ROWS = ("ippo", "mappo", "commnet", "tbone", "sync_4")


def numbers():
    """Two agents that choose two numbers each."""
    return Mixed(dict.fromkeys(("left", "right"), spaces.Box(-1, 1, (2,))))


def choices():
    """Two agents that choose two of three each."""
    return Mixed(dict.fromkeys(("left", "right"), spaces.MultiDiscrete([3, 3])))


@pytest.mark.parametrize("method", ROWS)
def test_probabilities_while_learning_are_those_while_acting(method):
    policy, fragment = fragments.play(plan(MIXED, method, 0), length=12)
    batch = to_batch(fragment)
    again = forward(policy, batch).policy.first_steps(12)
    actions = chosen_actions(batch)
    torch.testing.assert_close(again.log_prob(actions), batch["log_prob"], atol=1e-5, rtol=1e-5)
    each = again.component_log_prob(actions, batch["component"])
    torch.testing.assert_close(each, batch["agent_log_prob"], atol=1e-5, rtol=1e-5)


class Watched(Impala):
    """IMPALA that keeps what V-trace gets."""

    log_ratios: ClassVar[list[torch.Tensor]] = []

    def compute_advantages(self, steps, values, log_ratio):
        self.log_ratios.append(log_ratio)
        return super().compute_advantages(steps, values, log_ratio)


def with_learner(config, **fields):
    return dataclasses.replace(config, learner=dataclasses.replace(config.learner, **fields))


@pytest.mark.parametrize("method", ["ippo", "sync_2"])
def test_vtrace_has_ratios_of_1_where_it_samples_and_where_agents_have_left(method):
    planned = plan(with_learner(LEAVING, algorithm="impala"), method, 0)
    policy, fragment = fragments.play(planned, length=12)
    assert not fragment.obs["alive"].all()
    assert ratio_error(planned.objective, policy, fragment) < 1e-5


def test_vtrace_ratios_are_those_of_the_samples_before_tanh():
    """The slope of tanh and the width of the bounds cancel, and the ratio is one of two normal densities."""
    planned = plan(with_learner(NUMBERS, algorithm=f"{__name__}:Watched"), "ippo", 0)
    policy, fragment = fragments.play(planned, length=12)
    batch = to_batch(fragment)
    sampled = batch["actions/before_tanh"]

    def densities():
        gaussian = forward(policy, batch).policy.first_steps(12).gaussian
        normal = torch.distributions.Normal(gaussian.mean[..., 0, :], gaussian.log_std[..., 0, :].exp())
        return normal.log_prob(sampled).sum(-1)

    before = densities()
    Learner(policy, planned.objective, planned.optimiser).update([fragment])
    planned.objective.loss(forward(policy, batch), batch, Progress())
    wanted = densities() - before
    assert wanted.abs().max() > 1e-3
    torch.testing.assert_close(Watched.log_ratios[-1], wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("method", ["qmix", "vdn", "sync_2_cordial", "lora"])
def test_rows_that_choose_from_one_list_are_refused_before_the_run(method):
    for config in (MIXED, NUMBERS, dataclasses.replace(SMOKE, env="minirts-v0")):
        with pytest.raises(UserError, match=rf"{method} .*Discrete.*{config.env}"):
            EXPERIMENT.check(dataclasses.replace(config, methods=("ippo", method)))


def test_numbers_give_mutual_information():
    known = play(MIXED, 2, 0, build_policy(MIXED, "sync_4", 0))
    assert {one for one in known if one.startswith(("mutual", "tvd"))} == {"mutual_information"}
    apart = play(MIXED, 2, 0, build_policy(MIXED, "ippo", 0))
    np.testing.assert_allclose(apart["mutual_information"], 0, atol=1e-5)
    assert "tvd" in play(CHOICES, 2, 0, build_policy(CHOICES, "sync_4", 0))
