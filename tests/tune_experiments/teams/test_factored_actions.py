"""Rows of `concord train` where actions have several parts or are numbers."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rl_models.algorithms.impala import Impala
from rl_models.batch import forward, to_batch
from rl_models.schedule import Progress
from rl_models.training.loop import Learner
from tests.rl_envs.wrappers.test_factored_actions import Mixed
from tests.tune_experiments import fragments
from tune_experiments.core.errors import UserError
from tune_experiments.teams.trials import build_policy, plan, play
from tune_experiments.train import EXPERIMENT, SMOKE

MIXED = dataclasses.replace(SMOKE, env="tests.rl_envs.wrappers.test_factored_actions:Mixed")
NUMBERS = dataclasses.replace(SMOKE, env=f"{__name__}:numbers")
CHOICES = dataclasses.replace(SMOKE, env=f"{__name__}:choices")


def numbers():
    """Two agents that choose two numbers each."""
    return Mixed(dict.fromkeys(("left", "right"), spaces.Box(-1, 1, (2,))))


def choices():
    """Two agents that choose two of three each."""
    return Mixed(dict.fromkeys(("left", "right"), spaces.MultiDiscrete([3, 3])))


class Watched(Impala):
    """IMPALA that keeps what V-trace gets."""

    log_ratios: ClassVar[list[torch.Tensor]] = []

    def compute_advantages(self, steps, values, log_ratio):
        self.log_ratios.append(log_ratio)
        return super().compute_advantages(steps, values, log_ratio)


def test_vtrace_ratios_are_those_of_the_samples_before_tanh():
    """The slope of tanh and the width of the bounds cancel, and the ratio is one of two normal densities."""
    learner = dataclasses.replace(NUMBERS.learner, algorithm=f"{__name__}:Watched")
    planned = plan(dataclasses.replace(NUMBERS, learner=learner), "ippo", 0)
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
