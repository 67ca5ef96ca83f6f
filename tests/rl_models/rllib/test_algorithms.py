"""RLlib's PPO and IMPALA over fragments on a cluster: they train, log, continue, and survive a killed runner."""

import copy
import os
import signal
import time

import numpy as np
import pytest
import ray
import torch

from cluster.testing.processes import listeners
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.schedule import Progress, Schedule
from rl_models.training.algorithm import OTHERS_CPU_SECONDS
from tests.patience import PATIENCE_SECONDS
from tests.rl_models.rllib.small import plan, train_until_learned

pytestmark = pytest.mark.usefixtures("ray_session")
LOGGED = (
    "episode/return",
    "episode/length",
    "episode/success",
    "loss/policy",
    "loss/value",
    "loss/cordial",
    "loss/total",
    "policy/entropy",
    "policy/ratio_error",
    "policy/invalid_probability",
    "schedule/learning_rate",
    "schedule/cordial",
    "learner/gradient_norm",
    "learner/skipped_updates",
    "learner/policy_lag_updates",
    "speed/learner_busy_share",
    "learner/queue_length",
    "speed/env_steps_per_second_of_a_runner",
)


@pytest.fixture
def algorithm():
    """Build a trial, and stop it at the end."""
    built = []

    def build(*arguments, **keywords):
        built.append(TeamAlgorithm(plan(*arguments, **keywords)))
        return built[-1]

    yield build
    for one in built:
        one.close()


def copied(state):
    """A checkpoint's worth of a state: arrays of a local learner are those that it goes on changing."""
    return {group: {name: copy.deepcopy(value) for name, value in part.items()} for group, part in state.items()}


def weights(one):
    return one.policy().state_dict()


@pytest.mark.parametrize("kind", [Ppo, Impala])
def test_it_trains_in_its_own_process_and_logs_the_named_metrics(algorithm, kind):
    one = algorithm(kind)
    before = weights(one)
    row = train_until_learned(one, 240)
    assert [name for name in LOGGED if not np.isfinite(row.get(name, np.nan))] == []
    assert all(not torch.equal(value, before[name]) for name, value in weights(one).items())
    assert row["learner/skipped_updates"] == 0
    if kind is Ppo:
        assert one.progress().env_steps % 60 == 0
        assert row["learner/policy_lag_updates"] == 0


def test_a_killed_and_continued_trial_equals_an_unbroken_one(algorithm):
    unbroken = algorithm(Ppo)
    for _ in range(2):
        unbroken.train()
    state = copied(unbroken.checkpoint()[0])
    progress = Progress(**vars(unbroken.progress()))
    for _ in range(2):
        unbroken.train()
    continued = algorithm(Ppo)
    continued.train()
    continued.restore(state, progress)
    for _ in range(2):
        continued.train()
    assert continued.progress() == unbroken.progress()
    for name, value in weights(unbroken).items():
        assert torch.equal(weights(continued)[name], value), name


def test_a_restored_trial_acts_with_the_restored_weights(algorithm):
    """Though it has trained: RLlib's runners ignore weights that do not count as newer."""
    one, other = algorithm(Ppo), algorithm(Ppo)
    one.train()
    other.train()
    other.restore(copied(one.checkpoint()[0]), Progress(**vars(one.progress())))
    acting = other.algorithm.env_runner.module.policy.state_dict()
    for name, value in weights(one).items():
        assert torch.equal(acting[name], value), name


def test_runners_that_are_busy_act_with_the_restored_weights_too(algorithm):
    """RLlib sends no weights to a runner that has not yet taken those before them, as one that still starts."""
    one, other = algorithm(Ppo), algorithm(Ppo, runners=1)
    one.train()
    group = other.algorithm.env_runner_group
    group.foreach_env_runner_async(lambda _: time.sleep(1), tag="busy")
    group.sync_weights(from_worker_or_learner_group=other.algorithm.learner_group, inference_only=True)
    other.restore(copied(one.checkpoint()[0]), Progress(**vars(one.progress())))
    [acting] = group.foreach_env_runner(lambda runner: runner.module.policy.state_dict(), local_env_runner=False)
    for name, value in weights(one).items():
        assert torch.equal(acting[name], value), name


def continued_beside_an_unbroken_one(algorithm, **changes):
    """An algorithm of six worlds that trains on, and another one that continues from its checkpoint."""
    unbroken = algorithm(Ppo, worlds=6)
    unbroken.train()
    state, progress = copied(unbroken.checkpoint()[0]), Progress(**vars(unbroken.progress()))
    other = algorithm(Ppo, **changes)
    other.restore(state, progress)
    for each in (unbroken, other):
        each.train()
    assert other.progress() == unbroken.progress()
    return unbroken, other


def test_a_trial_continued_in_other_groups_learns_the_same(algorithm):
    unbroken, other = continued_beside_an_unbroken_one(algorithm, worlds=6, groups=2)
    for name, value in weights(unbroken).items():
        torch.testing.assert_close(weights(other)[name], value, atol=1e-5, rtol=0, msg=name)


def test_a_trial_continued_on_other_runners_plays_the_same_worlds_on(algorithm):
    """Weights may differ: fragments of several runners come in any order, and are shuffled into other minibatches."""
    unbroken, other = continued_beside_an_unbroken_one(algorithm, runners=2, worlds=3)
    whole, parts = unbroken.checkpoint()[0], other.checkpoint()[0]
    worlds = {name: value for name, value in whole["runner_0"].items() if name.startswith("world/")}
    assert "world/chance_key" in worlds
    for name, value in worlds.items():
        joined = np.concatenate([parts[f"runner_{index}"][name] for index in range(2)])
        np.testing.assert_array_equal(joined, value, err_msg=name)


def test_a_trial_continued_with_more_worlds_begins_new_episodes_with_the_same_weights(algorithm):
    one, other = algorithm(Ppo, worlds=3), algorithm(Ppo, worlds=4)
    one.train()
    before = weights(one)
    other.restore(copied(one.checkpoint()[0]), Progress(**vars(one.progress())))
    assert all(torch.equal(value, before[name]) for name, value in weights(other).items())
    other.train()
    assert other.progress().env_steps > one.progress().env_steps


def assert_survives_a_killed_runner(one):
    group = one.algorithm.env_runner_group
    runners = group.foreach_env_runner(lambda runner: (runner.worker_index, os.getpid()), local_env_runner=False)
    assert sorted(index for index, _ in runners) == [1, 2]
    os.kill(runners[0][1], signal.SIGKILL)
    row = train_until_learned(one, one.progress().env_steps + 300)
    assert np.isfinite(row["loss/total"])


def test_ppos_remote_runners_share_the_worlds_continue_from_snapshots_and_may_be_killed(algorithm):
    one = algorithm(Ppo, runners=2, worlds=3)
    told = one.train()[OTHERS_CPU_SECONDS]
    state = copied(one.checkpoint()[0])
    keys = np.concatenate([state[f"runner_{index}"]["world/chance_key"] for index in range(2)])
    local = algorithm(Ppo, worlds=6)
    local.train()
    np.testing.assert_array_equal(keys, local.checkpoint()[0]["runner_0"]["world/chance_key"])
    told += one.train()[OTHERS_CPU_SECONDS]
    spent = one.algorithm.env_runner_group.foreach_env_runner(lambda _: time.process_time(), local_env_runner=False)
    assert 0 < told <= sum(spent), "each CPU-second of a runner is told once"
    one.restore(state, Progress())
    again = one.checkpoint()[0]
    for index in range(2):
        for name, value in state[f"runner_{index}"].items():
            np.testing.assert_array_equal(again[f"runner_{index}"][name], value, err_msg=name)
    assert_survives_a_killed_runner(one)


@pytest.mark.slow
def test_impalas_remote_runners_may_be_killed(algorithm):
    one = algorithm(Impala, runners=2)
    train_until_learned(one, 240)
    assert_survives_a_killed_runner(one)


def assert_equal_replicas(one):
    (first, progress), *others = one.each_learner(lambda learner: learner.training_state())
    for tensors, same_progress in others:
        assert same_progress == progress
        for group in ("weights", "optimizer"):
            for name, value in first[group].items():
                assert torch.equal(value, tensors[group][name]), name


def assert_learners_listen_on_their_nodes_address_alone(one):
    """torch's store, through which they meet, listens on all addresses of a machine by default."""
    found = listeners(one.each_learner(lambda learner: os.getpid()))
    store = int(one.each_learner(lambda learner: os.environ["MASTER_PORT"])[0])
    assert store in {port for _, port in found}
    assert {address for address, _ in found} == {ray.util.get_node_ip_address()}


FALLING = OptimiserSettings(learning_rate=Schedule.linear(1e-3, 0.0, 40, "episodes"))


def test_two_learners_of_uneven_shares_make_the_update_that_one_makes_and_stay_equal(algorithm):
    """Three worlds and four, in four minibatches, of which a learner cannot fill each: this once waited for ever."""
    one, two = (algorithm(Ppo, learners=learners, worlds=7, optimiser=FALLING) for learners in (0, 2))
    alone, row = (each.train() for each in (one, two))
    assert np.isfinite(row["loss/total"])
    assert OTHERS_CPU_SECONDS not in alone and row[OTHERS_CPU_SECONDS] > 0, "what learners of their own spend is told"
    assert two.progress() == one.progress() == Progress(70, two.progress().episodes, updates=8)
    for name, value in weights(one).items():
        torch.testing.assert_close(weights(two)[name], value, atol=1e-6, rtol=0, msg=name)
    for _ in range(2):
        row = two.train()
    assert two.progress().episodes > 10 and row["schedule/learning_rate"] == FALLING.learning_rate.at(two.progress())
    assert_equal_replicas(two)
    assert_learners_listen_on_their_nodes_address_alone(two)


@pytest.mark.slow
def test_impalas_learners_stay_equal_and_each_gets_a_fragment_though_one_runner_plays(algorithm):
    two = algorithm(Impala, learners=2, worlds=3, loss_reduction="sum", num_epochs=2, num_minibatches=2)
    before = weights(two)
    train_until_learned(two, 120)
    progress = two.progress()
    assert progress.env_steps % 60 == 0, "an update is of one fragment for each learner"
    assert progress.updates == progress.env_steps // 60 * 4, "two epochs of two minibatches"
    assert_equal_replicas(two)
    assert all(not torch.equal(value, before[name]) for name, value in weights(two).items())


@pytest.mark.slow
def test_a_learner_that_is_behind_loses_no_shard_of_an_update(algorithm):
    """RLlib's limit of requests that wait at a learner once dropped them without a word."""
    two = algorithm(Impala, learners=2, worlds=3)
    group, fragment = two.algorithm.learner_group, ray.put(two.algorithm.env_runner.sample())
    updates, start = 12, time.monotonic()
    for _ in range(updates):
        group.update(episodes_refs=[fragment, fragment], async_update=True, timesteps={})
    assert group.get_stats()["learner_group_ts_dropped_lifetime"] == 0
    while two.progress().updates < updates:
        assert time.monotonic() - start < PATIENCE_SECONDS, f"stuck at {two.progress()}"
    assert two.progress().env_steps == updates * 60
    assert_equal_replicas(two)
