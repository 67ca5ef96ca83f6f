"""QMIX on RLlib: it trains in PPO's loop with a replay in its learner, logs, continues, and acts as scheduled."""

import copy

import numpy as np
import pytest
import torch

from rl_models.rllib.workers import Workers
from rl_models.schedule import Progress, Schedule
from tests.rl_models.algorithms.small_qmix import objective, room_team, rooms
from tests.rl_models.rllib.small import trial

LOGGED = (
    "episode/return",
    "episode/win_rate",
    "loss/td",
    "loss/total",
    "policy/joint_value",
    "policy/joint_target",
    "schedule/epsilon",
    "schedule/learning_rate",
    "learner/gradient_norm",
    "learner/skipped_updates",
)


def build_team():
    torch.set_num_threads(1)
    return room_team(epsilon=1.0)


@pytest.fixture
def algorithm(start):
    """Start a small trial of QMIX."""

    def build(runners=0, worlds=6, learners=0):
        learned = objective(epsilon=Schedule.linear(1.0, 0.0, 144))
        workers = Workers(runners=runners, worlds_per_runner=worlds, fragment_length=12, learners=learners)
        return start(trial(objective=learned, workers=workers, make_world=rooms, build_policy=build_team))

    return build


def weights(one):
    return one.policy().state_dict()


def test_it_trains_in_its_own_process_logs_and_hands_epsilon_to_who_acts(algorithm):
    one = algorithm()
    before = weights(one)
    rows = [one.train() for _ in range(2)]
    logged = rows[0] | rows[1]
    assert [name for name in LOGGED if not np.isfinite(logged.get(name, np.nan))] == []
    assert one.progress() == Progress(env_steps=144, episodes=one.progress().episodes, updates=4)
    moved = {name for name, value in weights(one).items() if not torch.equal(value, before[name])}
    assert moved == set(before)  # the targets too: they were copied after the third update
    acting = one.algorithm.env_runner.module.policy
    assert acting.policy_head.epsilon.item() == 0.0
    assert all(torch.equal(value, weights(one)[name]) for name, value in acting.state_dict().items())


def test_a_killed_and_continued_trial_equals_an_unbroken_one(algorithm):
    unbroken = algorithm()
    for _ in range(2):
        unbroken.train()
    tensors, progress = copy.deepcopy(unbroken.checkpoint())
    assert len(tensors["replay"]["is_first"]) == 12
    unbroken.train()
    continued = algorithm()
    continued.train()
    continued.restore(tensors, progress)
    continued.train()
    assert continued.progress() == unbroken.progress()
    torch.testing.assert_close(weights(continued), weights(unbroken), rtol=0, atol=0)


@pytest.mark.slow
def test_two_learners_killed_and_continued_equal_two_that_went_on(algorithm):
    """The checkpoint once kept the first learner's replay for both."""
    unbroken = algorithm(worlds=8, learners=2)
    unbroken.train()
    tensors, progress = copy.deepcopy(unbroken.checkpoint())
    assert {"weights", "optimizer", "replay", "replay_1"} < set(tensors)
    assert not torch.equal(*(tensors[group]["obs/position"] for group in ("replay", "replay_1")))
    alone = algorithm(worlds=8)
    alone.restore(tensors, progress)
    kept = alone.checkpoint()[0]["replay"]["actions"].flatten(1).tolist()
    there = [row for group in ("replay", "replay_1") for row in tensors[group]["actions"].flatten(1).tolist()]
    assert sorted(kept) == sorted(there), "one learner goes on with what two have kept"
    alone.train()
    unbroken.train()
    expected, replays = weights(unbroken), unbroken.checkpoint()[0]
    unbroken.close()  # the session has four CPUs
    continued = algorithm(worlds=8, learners=2)
    continued.restore(tensors, progress)
    continued.train()
    torch.testing.assert_close(weights(continued), expected, rtol=0, atol=0)
    for group in ("replay", "replay_1"):
        torch.testing.assert_close(continued.checkpoint()[0][group], replays[group], rtol=0, atol=0)


def test_a_replay_too_small_for_a_learners_share_is_refused_before_anything_starts(algorithm):
    with pytest.raises(ValueError, match=r"15.*16"):
        algorithm(worlds=31, learners=2)
    Workers(worlds_per_runner=30, learners=2).check_learners(objective())
