"""The rows of SAMA's table that learn the game itself: MAPPO with SAMA's network and without text, and self-play."""

import dataclasses

import numpy as np
import pytest

from rl_models.batch import decision_mask, to_batch
from rl_models.training.evaluation import Evaluation
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments.fragments import play, unmoved
from tune_experiments import load_policy, sama_ablations
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.sama.overcooked.evaluation import evaluate, planned_episodes
from tune_experiments.sama.overcooked.trials import UNPLANNED, plan, validate
from tune_experiments.sama.overcooked.world import SymbolKitchen
from tune_experiments.sama_overcooked import LAPTOP, SMOKE

MAPPO_HERE = "mappo-cramped_room"


def test_without_a_method_that_has_a_planner_none_is_checked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    experiment = find_experiment("sama_overcooked")
    experiment.check(dataclasses.replace(SMOKE, planner="openai", methods=("mappo", "selfplay")))


@pytest.mark.parametrize(("weights", "chosen_by"), [("validated", "soups"), ("last", None)])
@pytest.mark.parametrize("method", ["sama", "blind", "mappo", "selfplay"])
def test_the_weights_of_every_method_are_chosen_alike(method, weights, chosen_by):
    trial = plan(dataclasses.replace(LAPTOP, weights=weights), f"{method}-cramped_room", 0)
    assert (trial.chosen_by, trial.chooses_last) == (chosen_by, True)


def test_mappo_plays_whole_episodes_for_soups_and_shaped_points_and_is_told_nothing():
    config = dataclasses.replace(LAPTOP, budget_env_steps=10**9)
    world = plan(config, MAPPO_HERE, 0).make_world(num_worlds=4, first_world=0)
    assert type(world) is SymbolKitchen and world.max_episode_steps == 400
    assert set(world.reset(0)) == {"symbols", "legal", "decides", "commands"}
    start = world.snapshot()
    start["held"][:] = 1
    start["agent_cells"][:, 0], start["headings"][:, 0] = 7, 0  # below the pot, looking at it
    start["agent_cells"][:, 1] = 11
    world.restore(start)
    commands, reward = [], 0.0
    for _ in range(2):  # relocation to an object takes one step when one faces it
        obs, paid, *_ = world.step(np.array([[2, 11]] * 4))
        commands.append(obs["commands"])
        reward = reward + paid
    assert not np.any(commands)
    np.testing.assert_allclose(reward, [[3.0, 0.0]] * 4, rtol=1e-3)


def test_mappo_learns_from_the_probabilities_that_acting_drew_with():
    trial = plan(SMOKE, MAPPO_HERE, 1)
    policy, fragment = play(trial, 6, 30)
    assert not decision_mask(to_batch(fragment)).all()
    assert ratio_error(trial.objective, policy, fragment) < 1e-5
    learned = ("network.policy", "network.value", "policy_head", "value_head")
    assert not [name for name in unmoved(trial, policy, fragment) if name.startswith(learned)]


@pytest.mark.parametrize("row", UNPLANNED)
def test_they_are_tested_in_whole_episodes_without_a_planner_under_every_experiment(row):
    trial = plan(SMOKE, f"{row}-cramped_room", 0)
    team = trial.build_policy()
    method = f"{row}-cramped_room"
    for tested in (evaluate(SMOKE, method, team), sama_ablations.EXPERIMENT.evaluate_trial(SMOKE, method, team, None)):
        assert list(tested) == ["cramped_room"]
        episodes = tested["cramped_room"]
        assert set(episodes) == {"soups", "sampled_soups", "reward", "shaped_return", "length"}
        assert (episodes["length"] == SMOKE.max_episode_steps).all()
    assert set(trial.validate(team)) >= {"soups", "reward"}


@pytest.mark.long
def test_weights_are_chosen_by_other_episodes_than_the_one_of_the_likeliest_actions():
    loaded = load_policy("pretrained/sama_cramped_room")
    config = dataclasses.replace(loaded.config, test_episodes=8, valid_episodes=1)
    tested = planned_episodes(config, loaded.method, loaded.policy, 2, None)["soups"]
    validated = validate(config, "sama-cramped_room", loaded.policy)["soups"]
    assert len(set(tested)) == 1 and len(set(validated)) > 1


@pytest.mark.parametrize("row", UNPLANNED)
def test_likeliest_actions_are_taken_in_tests_of_every_row_beside_sampled_ones(row, monkeypatch):
    team, taken = plan(SMOKE, f"{row}-cramped_room", 0).build_policy(), []
    run = Evaluation.run
    monkeypatch.setattr(Evaluation, "run", lambda self, seed: (taken.append(self.is_greedy), run(self, seed))[1])
    for is_greedy in (False, True):
        config = dataclasses.replace(SMOKE, is_greedy=is_greedy, max_episode_steps=5)
        evaluate(config, f"{row}-cramped_room", team)
        plan(config, f"{row}-cramped_room", 0).validate(team)
    assert taken == [False, False, True, False, False]  # validation samples
