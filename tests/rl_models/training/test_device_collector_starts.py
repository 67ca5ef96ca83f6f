"""Worlds of tensors whose starts the host draws in time: FurnMove with a TBONE team, in NumPy and in torch."""

import numpy as np
import pytest
import torch

from rl_envs.furnmove import prepared_starts
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.runtime import cuda_graph
from rl_models.runtime import device as devices
from rl_models.training.evaluation import Evaluation
from rl_models.training.grouped_collector import make_collector
from rl_models.training.loop import Learner
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_models.training.small import ROUNDING, assert_equal_fragments, cordial, rooms, team
from tests.rl_models.training.test_device_collector import BOTH, assert_equal_episodes, on_host

WORLDS, LENGTH = 5, 8


@pytest.fixture(autouse=True)
def few_ahead(monkeypatch):
    """A fragment needs more starts than are prepared without being told of it."""
    monkeypatch.setattr(prepared_starts, "STEPS_AHEAD", 3)


def collector(arrays, policy, device="cpu", agents=2, length=LENGTH):
    world = rooms(WORLDS, agents=agents, arrays=arrays, device=str(device))
    one = make_collector([world], policy, length, needs_values=True)
    one.reset(3)
    return one


@pytest.mark.parametrize("agents", [2, 3])
def test_fragments_of_tensors_are_those_of_arrays(agents):
    ours, theirs = (collector(arrays, team(agents=agents), agents=agents) for arrays in BOTH)
    for _ in range(2):
        assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)
        assert_equal_episodes(ours.pop_episodes(), theirs.pop_episodes())


def test_long_fragments_are_prepared_as_a_whole():
    ours, theirs = (collector(arrays, team(), length=3 * LENGTH) for arrays in BOTH)
    assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)


@pytest.mark.parametrize("order", [BOTH, BOTH[::-1]])
def test_a_collector_continues_from_a_snapshot_of_the_other(order):
    first, second = (collector(arrays, team()) for arrays in order)
    first.collect()
    second.restore(first.snapshot())
    assert_equal_fragments(first.collect(), second.collect(), close=ROUNDING)


def test_a_team_learns_with_cordial_from_tensors_as_from_arrays():
    weights = []
    for arrays in BOTH:
        policy = team()
        one = collector(arrays, policy)
        objective = Impala(extra_losses=(cordial(one.world),))
        learner = Learner(policy, objective, OptimiserSettings(optimiser_epsilon=0.1))
        for _ in range(2):
            learner.update([one.collect()])
        weights.append(policy.state_dict())
    for name, value in weights[0].items():
        np.testing.assert_allclose(weights[1][name], value, atol=1e-5, err_msg=name)


def test_validation_with_tensors_is_that_with_arrays():
    played = [Evaluation(rooms(WORLDS, arrays=arrays), team()).run(7, 2) for arrays in BOTH]
    assert_equal_episodes(*played)


def test_steps_ask_the_host_for_nothing_on_an_emulated_device():
    with emulated_device() as counts:
        one = collector("torch", team().to(DEVICE), DEVICE)
        one.world.prepare(LENGTH)
        counts.copies = counts.syncs = 0
        one.collect()
        assert (counts.copies, counts.syncs) == (2, 2), "the episodes that began, and the metrics of ended ones"


def test_a_step_is_captured_and_replayed_on_an_emulated_device(monkeypatch):
    monkeypatch.setattr(devices, "can_capture", lambda device: device == DEVICE)
    monkeypatch.setattr(cuda_graph, "Capture", EmulatedCapture)
    expected = collector("numpy", team())
    with emulated_device():
        one = collector("torch", team().to(DEVICE), DEVICE)
        found = [on_host(one.collect()) for _ in range(2)]
        assert not one.graphed.never
    for fragment in found:
        assert_equal_fragments(expected.collect(), fragment, close=ROUNDING)


def test_a_world_that_was_validated_can_be_played_on():
    world = rooms(WORLDS, arrays="torch")
    Evaluation(world, team()).run(1)
    world.reset(2)
    for _ in range(2 * LENGTH):
        world.step(torch.zeros((WORLDS, 2), dtype=torch.int64))
    world.prepare(100)
