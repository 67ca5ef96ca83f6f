"""Results that depend on weights alone are computed once while acting, and never come from old weights."""

import copy
import dataclasses
import pickle

import pytest
import torch

from rl_models.policy import fixed_weights
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import FragmentEnvRunner
from rl_models.rllib.workers import Workers
from rl_models.runtime.fixed_weights import CachedByWeights, LRUCache, WeightChangeDetector
from rl_models.schedule import Progress
from rl_models.training.loop import Learner
from tests.rl_models.networks.weight_changes import CHANGES
from tests.rl_models.training.small import assert_equal_fragments, begun
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.sama.overcooked.trials import plan
from tune_experiments.sama_overcooked import SMOKE

LENGTH = 4
TRIAL = dataclasses.replace(
    plan(SMOKE, "sama-cramped_room", 0), workers=Workers(worlds_per_runner=2, fragment_length=LENGTH)
)


def sampler(policy, snapshot=None):
    one = begun(TRIAL.make_world(num_worlds=2, first_world=0), policy, LENGTH, seed=0)
    if snapshot is not None:
        one.restore(snapshot)
    return one


def counted(network):
    """How often the network reads, as a list that grows."""
    read, calls = network.compute_tables, []
    network.compute_tables = lambda: calls.append(None) or read()
    return calls


def never_acted(policy):
    """Another team with the same weights, which has nothing to keep."""
    other = TRIAL.build_policy()
    other.load_state_dict(policy.state_dict())
    return other


# ------------------------------------------------------------------------------------------------ the mechanism


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_weights_is_noticed_and_none_is_made_up(change):
    module, watch = torch.nn.Linear(2, 2), WeightChangeDetector()
    assert watch.has_changed(module.parameters())
    assert not watch.has_changed(module.parameters())
    change(module)
    assert watch.has_changed(module.parameters())
    assert not watch.has_changed(module.parameters())


@pytest.mark.parametrize("move", [torch.nn.Module.double, lambda module: module.to("meta")])
def test_another_type_or_device_is_a_change(move):
    module, watch = torch.nn.Linear(2, 2), WeightChangeDetector()
    watch.has_changed(module.parameters())
    assert watch.has_changed(move(module).parameters())


def test_weights_are_compared_once_in_a_scope_and_anew_in_the_next():
    watch, weight, looked = WeightChangeDetector(), torch.zeros(2), []

    def weights():
        looked.append(None)
        yield weight

    with fixed_weights():
        assert [watch.has_changed(weights()) for _ in range(3)] == [True, False, False]
        with fixed_weights():
            assert not watch.has_changed(weights())
    assert len(looked) == 2
    weight += 1
    with fixed_weights():
        assert watch.has_changed(weights())


def test_values_are_computed_once_for_the_same_weights_and_those_not_used_for_longest_are_forgotten():
    asked = []

    def doubled(keys):
        asked.append(list(keys))
        return [2 * key for key in keys]

    memory, weight = LRUCache(3), torch.zeros(2)
    assert memory.get([1, 2, 1], [weight], doubled) == [2, 4, 2]
    assert memory.get([3, 4, 5, 2], [weight], doubled) == [6, 8, 10, 4]
    assert memory.get([5, 1, 2], [weight], doubled) == [10, 2, 4]
    weight += 1
    assert memory.get([5], [weight], doubled) == [10]
    assert asked == [[1, 2], [3, 4, 5], [1], [5]]
    assert memory.computed == 7


def test_a_value_whose_computation_failed_is_not_that_of_the_weights_before():
    once, weight = CachedByWeights(), torch.zeros(1)
    memory = LRUCache(3)

    def fail(*_):
        raise ValueError

    with torch.no_grad():
        assert once.get([weight], lambda: "old") == memory.get(["key"], [weight], lambda _: ["old"])[0] == "old"
        weight += 1
        for attempt in (lambda: once.get([weight], fail), lambda: memory.get(["key"], [weight], fail)):
            with pytest.raises(ValueError):
                attempt()
        assert once.get([weight], lambda: "new") == memory.get(["key"], [weight], lambda _: ["new"])[0] == "new"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_begin_with_nothing(copied):
    once, weight = CachedByWeights(), torch.zeros(1)
    with torch.inference_mode():
        once.get([weight], lambda: "of the original")
        assert copied(once).get([weight], lambda: "its own") == "its own"


# ------------------------------------------------------------------------------------------------ SAMA's reading


def test_sama_reads_once_a_fragment_while_acting_and_every_time_with_gradients():
    policy = TRIAL.build_policy()
    one, calls = sampler(policy), counted(policy.network)
    fragment = one.collect()
    assert len(calls) == 1
    one.collect()
    assert len(calls) == 1
    updates = Learner(policy, TRIAL.objective, TRIAL.optimiser).update([fragment])
    assert float(updates["learner/gradient_norm"]) > 0
    assert len(calls) > 1
    before = len(calls)
    one.collect()
    assert len(calls) == before + 1


def test_a_runner_acts_with_the_weights_that_rllib_sends():
    runner, learner = (
        FragmentEnvRunner(config=rllib_config(TRIAL)),
        rllib_config(TRIAL).build_learner(env=None, spaces=None),
    )
    learner.build()
    runner.sample(num_timesteps=1)
    through_rllib = learner.module["default_policy"].unwrapped()
    with torch.no_grad():
        torch._foreach_add_(list(through_rllib.policy.parameters()), 0.1)
    runner.set_state({"rl_module": {"default_policy": through_rllib.get_state()}, "weights_seq_no": 1})
    wanted = sampler(never_acted(through_rllib.policy), runner.snapshot())
    wanted.version = 1
    assert_equal_fragments(runner.sample(num_timesteps=1)[0], wanted.collect())


def test_a_loaded_policy_reads_texts_with_the_weights_that_it_has_now():
    experiment = find_experiment("rtfm_txt2pi")
    config = experiment.presets["smoke"]
    method = experiment.methods(config)[0]
    trial = experiment.plan(config, method, 0)
    world = trial.make_world(num_worlds=2, first_world=0)
    obs, state = world.reset(0), {"method": method, "seed": 0, "progress": vars(Progress())}

    def values(policy):
        policy.act(obs)
        return policy.last_output.values

    one, other = (LoadedPolicy(trial.build_policy(), experiment, config, state) for _ in range(2))
    one.reset(0, world.texts)
    other.reset(0, world.texts)
    before = values(one)
    CHANGES[0](one.policy)  # all are noticed alike, see above
    other.policy.load_state_dict(one.policy.state_dict())
    after = values(one)
    assert not torch.equal(after, before)
    torch.testing.assert_close(after, values(other), rtol=0, atol=0)
