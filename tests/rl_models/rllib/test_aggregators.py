"""IMPALA's aggregators: processes that make a learner's batches, out of the same fragments and to the same update."""

import contextlib
import dataclasses

import numpy as np
import pytest
import ray
import torch

from rl_models.algorithms.impala import Impala
from tests.rl_models.rllib.small import plan, train_until_learned
from tune_experiments import furnmove_sync


@pytest.fixture
def impala(start):
    """Start a small trial of IMPALA."""
    return lambda **arguments: start(plan(Impala, **arguments))


def train_once(one):
    """Until its first update, which learns from the first fragment."""
    while not one.progress().updates:
        one.train()
        if manager := one.algorithm._aggregator_actor_manager:  # noqa: SLF001 (RLlib's)
            batches = list(manager._in_flight_req_to_actor_id)  # noqa: SLF001
            ray.wait(batches, num_returns=len(batches))


def test_the_first_update_is_that_of_a_learner_without_aggregator(impala):
    with_one, without = impala(aggregators=1), impala()
    for one in (with_one, without):
        train_once(one)
    assert with_one.progress() == without.progress()
    assert with_one.progress().env_steps == 60
    expected = without.policy().state_dict()
    torch.testing.assert_close(with_one.policy().state_dict(), expected, rtol=0, atol=0)


@pytest.mark.slow
def test_runners_aggregators_and_learners_train_together(impala):
    one = impala(runners=2, worlds=3, learners=1, aggregators=1)  # four CPUs, as many as the session has
    before = one.policy().state_dict()
    row = train_until_learned(one, 600)
    assert np.isfinite(row["loss/total"])
    assert np.isfinite(row["learner/policy_lag_updates"])
    assert one.progress().env_steps == 60 * one.progress().updates, "a batch is one fragment of each runner"
    assert all(not torch.equal(value, before[name]) for name, value in one.policy().state_dict().items())


def test_other_algorithms_than_impala_refuse_them():
    smoke = furnmove_sync.EXPERIMENT.presets["smoke"]
    config = dataclasses.replace(smoke, workers=dataclasses.replace(smoke.workers, aggregators=1))
    for name in ("ppo", "impala"):
        chosen = dataclasses.replace(config, learner=dataclasses.replace(smoke.learner, algorithm=name))
        with pytest.raises(ValueError, match="aggregators") if name == "ppo" else contextlib.nullcontext():
            assert furnmove_sync.EXPERIMENT.plan(chosen, "sync_13_cordial", 0).workers.aggregators == 1
