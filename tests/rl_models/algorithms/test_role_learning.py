"""ROMA, LDSA and MASER learn what QMIX learns, and small games that need a role or a sub-goal."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_models.batch import forward, to_batch
from rl_models.networks.role_q_network import MEAN
from rl_models.schedule import Schedule
from tests.rl_models.algorithms.role_worlds import METHODS, SMALL, Corridor, Kinds, greedy_return, train
from tests.rl_models.training.small import begun

FORMS = [(method, SMALL) for method in METHODS]
FORMS.append(("maser", dataclasses.replace(SMALL, maser=dataclasses.replace(SMALL.maser, form="released"))))
IDS = [*METHODS, "maser-released"]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "config"), FORMS, ids=IDS)
def test_each_method_solves_the_two_step_game(method, config):
    world, always = make("two_step_game-v0", 32), Schedule.constant(1.0)
    policy, _ = train(world, method, 2, 12_800, config, key="state", epsilon=always, buffer_size=512, gradient_steps=2)
    assert greedy_return(make("two_step_game-v0", 2), policy) == 8.0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "config"), FORMS, ids=IDS)
def test_each_method_finds_the_end_of_a_short_corridor(method, config):
    policy, statistics = train(Corridor(8), method, 12, 19_200, config, gradient_steps=2)
    assert greedy_return(Corridor(2), policy) == 1.0
    assert np.isfinite(float(statistics["loss/total"]))


@torch.enable_grad()
def roles_of_kinds(policy):
    """Mean roles in greedy steps of 64 games, [K, F], and the kinds of their agents, [K]."""
    one = begun(Kinds(64), policy, 6, needs_values=False, seed=7)
    batch = to_batch(one.collect())
    batch = {key: value for key, value in batch.items() if key != "obs/noise"}
    seen = forward(policy, batch).extras[MEAN][:, :-1].detach().flatten(0, 2)
    return seen, batch["obs/seen"][:, :-1, :, :2].argmax(-1).flatten()


@pytest.mark.slow
def test_roles_of_two_kinds_lie_apart():
    policy, _ = train(Kinds(8), "roma", 6, 24_000, gradient_steps=2)
    roles, kinds = roles_of_kinds(policy)
    means = [roles[kinds == kind].mean(0) for kind in (0, 1)]
    spread = np.mean([float(roles[kinds == kind].std(0).norm()) for kind in (0, 1)])
    assert float((means[0] - means[1]).norm()) > 0.5 * spread  # measured: 1.04
    assert greedy_return(Kinds(32), policy) > 1.5
