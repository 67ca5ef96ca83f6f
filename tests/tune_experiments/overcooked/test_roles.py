"""The experiment of role methods: rows, what they learn from, how they are tested, and what is refused."""

import dataclasses

import pytest

from rl_models.algorithms.role_objectives import Maser
from tests.tune_experiments.fragments import play as play_fragment
from tests.tune_experiments.fragments import unmoved
from tune_experiments.core.config_path import with_overrides
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.overcooked.config import Q_METHODS
from tune_experiments.overcooked.trials import play_greedy

EXPERIMENT = find_experiment("overcooked_roles")
SMOKE, LAPTOP = (EXPERIMENT.presets[name] for name in ("smoke", "laptop"))


@pytest.mark.parametrize("row", Q_METHODS)
def test_every_method_learns_in_the_largest_kitchen_and_every_weight_gets_gradient(row):
    trial = EXPERIMENT.plan(dataclasses.replace(SMOKE, task="asymmetric_advantages"), row, 0)
    trial = dataclasses.replace(trial, objective=dataclasses.replace(trial.objective, gradient_steps=1))
    policy, fragment = play_fragment(trial, 2)
    trainable = {name for name, weights in policy.named_parameters() if weights.requires_grad}
    moved = trainable - set(unmoved(trial, policy, fragment))
    assert all(weights.grad is not None for weights in policy.parameters() if weights.requires_grad)
    assert len(moved) > 0.9 * len(trainable)
    assert {"network.input.weight", "network.memory.weight_hh", "mixer.mixer.second.0.weight"} & moved


def test_chefs_see_the_flattened_planes_of_the_whole_kitchen():
    for layout, planes in (("cramped_room", 520), ("asymmetric_advantages", 1170), ("coordination_ring", 650)):
        policy = EXPERIMENT.plan(dataclasses.replace(SMOKE, task=layout), "qmix", 0).build_policy()
        assert policy.network.encoder.features == policy.mixer.encoder.features == planes


def test_rows_are_paid_for_shaped_points_unless_they_are_sparse():
    arguments = {row: EXPERIMENT.plan(SMOKE, row, 0).make_world.keywords for row in ("qmix", "qmix_sparse")}
    assert arguments == {"qmix": {"shaping": 1.0}, "qmix_sparse": {}}


def test_maser_learns_from_whole_episodes_and_from_as_many_steps_as_the_others():
    qmix, maser = (EXPERIMENT.plan(LAPTOP, row, 0) for row in ("qmix", "maser"))
    assert isinstance(maser.objective, Maser) and maser.workers.fragment_length == LAPTOP.max_episode_steps
    for size in ("batch_size", "buffer_size"):
        sizes = [getattr(one.objective, size) * one.workers.fragment_length for one in (qmix, maser)]
        assert sizes[0] == sizes[1]
    played = [one.workers.worlds * one.workers.fragment_length / one.objective.gradient_steps for one in (qmix, maser)]
    assert played[0] == played[1] == LAPTOP.roles.train_every_env_steps


def test_the_released_form_of_maser_is_an_option():
    config = with_overrides(SMOKE, {"roles.team.maser.form": "released"})
    policy = EXPERIMENT.plan(config, "maser", 0).build_policy()
    assert not any(weight.requires_grad for weight in policy.representation.parameters())


def test_tests_are_played_by_best_actions_without_noise():
    for row in ("qmix", "ldsa"):
        policy = EXPERIMENT.plan(SMOKE, row, 0).build_policy()
        found = play_greedy(SMOKE, 3, policy)
        assert set(found) >= {"soups", "reward", "shaped_return", "length"}
        assert len(set(found["shaped_return"].ravel().tolist())) == 1  # nothing is left to chance
    random = EXPERIMENT.evaluate(SMOKE, "qmix", policy)
    assert set(random) == {Tested("cramped_room"), Tested("cramped_room", method=RANDOM)}


def test_tests_also_sample_actions_in_the_rows_of_q_learning_as_in_those_of_ppo():
    policy = EXPERIMENT.plan(SMOKE, "qmix", 0).build_policy()  # its epsilon is still 1
    found = EXPERIMENT.evaluate(dataclasses.replace(SMOKE, test_episodes=40), "qmix", policy)
    rewards = {world: played["reward_sampled"].tolist() for world, played in found.items()}
    assert all(len(values) == 40 for values in rewards.values())
    beside = EXPERIMENT.evaluate(SMOKE, "selfplay", EXPERIMENT.plan(SMOKE, "selfplay", 0).build_policy())
    assert all(played["reward_sampled"] is played["reward"] for played in beside.values())
