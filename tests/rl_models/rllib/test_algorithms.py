"""RLlib's PPO and IMPALA over fragments on a cluster: they train, log, continue, and survive a killed runner."""

import copy
import dataclasses
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
from rl_models.schedule import Progress, Schedule
from rl_models.training.algorithm import OTHERS_CPU_SECONDS
from rl_models.training.loop import Learner
from tests.rl_models.rllib.small import build_team, make_rooms, plan, qmix_plan, train_until_learned
from tests.rl_models.training.small import begun
from tests.timeouts import TIMEOUT_SECONDS

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
def algorithm(start):
    """Start a small trial."""
    return lambda *arguments, **keywords: start(plan(*arguments, **keywords))


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


@pytest.mark.parametrize("make_plan", [plan, qmix_plan])
def test_a_killed_and_continued_trial_equals_an_unbroken_one(start, make_plan):
    unbroken = start(make_plan())
    for _ in range(2):
        unbroken.train()
    tensors, progress = copy.deepcopy(unbroken.checkpoint())
    assert make_plan is plan or len(tensors["replay"]["is_first"]) == 12
    unbroken.train()
    continued = start(make_plan())
    continued.train()
    continued.restore(tensors, progress)
    continued.train()
    assert continued.progress() == unbroken.progress()
    torch.testing.assert_close(weights(continued), weights(unbroken), rtol=0, atol=0)


def test_a_trial_continued_with_more_worlds_begins_new_episodes_with_the_same_weights(algorithm):
    one, other = algorithm(Ppo, worlds=3), algorithm(Ppo, worlds=4)
    one.train()
    before = weights(one)
    other.restore(*copy.deepcopy(one.checkpoint()))
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


def assert_plays_the_same_worlds(parts, whole):
    """Two runners hold what one holds alone."""
    worlds = {name: value for name, value in whole["runner_0"].items() if name.startswith("world/")}
    assert "world/chance_key" in worlds
    for name, value in worlds.items():
        joined = np.concatenate([parts[f"runner_{index}"][name] for index in range(2)])
        np.testing.assert_array_equal(joined, value, err_msg=name)


def keep_busy(one):
    """RLlib sends no weights to a runner that has not yet taken those before them, as one that still starts."""
    group = one.algorithm.env_runner_group
    group.foreach_env_runner_async(lambda _: time.sleep(1), tag="busy")
    group.sync_weights(from_worker_or_learner_group=one.algorithm.learner_group, inference_only=True)


def test_remote_runners_share_the_worlds_continue_from_other_runners_and_from_their_own_and_may_be_killed(algorithm):
    one, alone = algorithm(Ppo, runners=2, worlds=3), algorithm(Ppo, worlds=6)
    group = one.algorithm.env_runner_group
    told = one.train()[OTHERS_CPU_SECONDS]
    alone.train()
    own, _ = copy.deepcopy(one.checkpoint())
    keys = np.concatenate([own[f"runner_{index}"]["world/chance_key"] for index in range(2)])
    np.testing.assert_array_equal(keys, alone.checkpoint()[0]["runner_0"]["world/chance_key"])
    told += one.train()[OTHERS_CPU_SECONDS]
    spent = group.foreach_env_runner(lambda _: time.process_time(), local_env_runner=False)
    assert 0 < told <= sum(spent), "each CPU-second of a runner is told once"
    keep_busy(one)
    one.restore(*copy.deepcopy(alone.checkpoint()))
    for acting in group.foreach_env_runner(lambda runner: runner.module.policy.state_dict(), local_env_runner=False):
        torch.testing.assert_close(acting, weights(alone), rtol=0, atol=0)
    for each in (one, alone):  # fragments of two runners come in any order, so weights may differ
        each.train()
    assert one.progress() == alone.progress()
    assert_plays_the_same_worlds(one.checkpoint()[0], alone.checkpoint()[0])
    one.restore(own, Progress())
    again = one.checkpoint()[0]
    for index in range(2):
        np.testing.assert_equal(again[f"runner_{index}"], own[f"runner_{index}"])
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
            torch.testing.assert_close(first[group], tensors[group], rtol=0, atol=0)


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
    torch.testing.assert_close(weights(two), weights(one), atol=1e-6, rtol=0)
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
        assert time.monotonic() - start < TIMEOUT_SECONDS, f"stuck at {two.progress()}"
    assert two.progress().env_steps == updates * 60
    assert_equal_replicas(two)


# ------------------------------------------------------------------------ RLlib's learners do what ours do
SETTINGS = OptimiserSettings(
    learning_rate=Schedule.constant(1e-2), critic_learning_rate=Schedule.constant(3e-3), amsgrad=True, max_grad_norm=1e9
)
PARTS = {"num_epochs": 4, "num_minibatches": 2, "gradient_accumulation_steps": 2}


@pytest.mark.parametrize("limit", [0.0, 1e-3])
def test_rllib_steps_in_parts_and_stops_as_the_ray_free_loop_does(algorithm, limit):
    one = algorithm(Ppo, optimiser=SETTINGS, **PARTS, target_kl=limit, value_clip_range=0.2)
    told = one.train()
    collector = begun(make_rooms(6, 0), build_team(), 10)
    learner = Learner(collector.policy, one.plan.objective, SETTINGS, seed=one.plan.seed)
    wanted = learner.update([collector.collect()])
    assert one.progress() == learner.progress
    assert one.progress().updates == 8 if not limit else 0 < one.progress().updates < 8
    torch.testing.assert_close(one.policy().state_dict(), learner.policy.state_dict(), atol=1e-6, rtol=1e-5)
    assert told["policy/approximate_kl"] == pytest.approx(float(wanted["policy/approximate_kl"]), rel=1e-3)
    assert told.get("learner/stopped", 0.0) == (1.0 if limit else 0.0)


class Breaks:
    """An extra loss that fails from the second update on."""

    def __call__(self, output, batch, progress):
        if progress.updates:
            raise ArithmeticError("this loss cannot go on")
        return torch.zeros(()), {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("learners", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_dead_learner_thread_of_impala_ends_the_trial(start, learners):
    """RLlib alone would wait for it for ever."""
    one = plan(Impala, learners=learners)
    algorithm = start(dataclasses.replace(one, objective=dataclasses.replace(one.objective, extra_losses=(Breaks(),))))
    with pytest.raises(Exception, match="this loss cannot go on"):
        while True:  # a learner elsewhere takes its time
            algorithm.train()
