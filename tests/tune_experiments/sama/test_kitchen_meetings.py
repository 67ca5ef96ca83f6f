"""Meetings: a planner commands its own chefs alone, and each chef acts as it has learned."""

import dataclasses

import numpy as np
import pytest

from rl_envs.overcooked.words import ACTIONS
from tests.tune_experiments.overcooked.runs import INTERACT, stubborn_team
from tune_experiments.overcooked_selfplay import EXPERIMENT as SELF_PLAY
from tune_experiments.overcooked_selfplay import SMOKE as SELF_PLAY_SMOKE
from tune_experiments.play.loading import PRETRAINED, LoadedPolicy, load_policy
from tune_experiments.sama.kitchen.evaluation import planned_episodes
from tune_experiments.sama.kitchen.meetings import Commander, MeetingKitchen, meet
from tune_experiments.sama.planning import loop_of
from tune_experiments.sama_overcooked import EXPERIMENT as SAMA
from tune_experiments.sama_overcooked import SMOKE

KITCHEN, ROUND = "cramped_room", 7
STEPS = 30
UNREFLECTED = dataclasses.replace(SMOKE, reflections=0, max_episode_steps=STEPS)


def kitchen(*commanders):
    return MeetingKitchen(3, commanders, layout=KITCHEN, max_episode_steps=STEPS)


def loaded(experiment, config, method, policy=None):
    state = {"seed": 0, "progress": {"env_steps": 0}, "method": method}
    return LoadedPolicy(policy or experiment.plan(config, method, 0).build_policy(), experiment, config, state)


@pytest.mark.parametrize("chef", [0, 1])
def test_a_planner_commands_its_own_chef_and_does_not_wait_for_the_other(chef):
    commander = Commander(loop_of(UNREFLECTED, KITCHEN, 0), (chef,), ROUND, np.zeros(3, int))
    world = kitchen(commander)
    world.reset(0)
    begun, other = [], 1 - chef
    for step in range(STEPS - 1):
        before = world.state["commands"].copy()
        observations, *_ = world.step(np.repeat(world.state["agent_cells"][:1], 3, 0))
        assert world.state["reached"][:, other].all()
        assert not observations["commands"][:, other].any()
        assert (world.state["commands"][:, other] == before[:, other]).all()
        if not commander.in_round.any():
            begun.append(step)
    # Nobody moves, so no sub-goal is reached, and every round ends by its time.
    assert begun == [step for step in range(STEPS - 1) if (step + 1) % ROUND == 0]


def test_a_chef_without_a_planner_sees_what_it_saw_when_it_learned_the_game():
    world = kitchen()
    assert not world.reset(0)["commands"].any()
    assert world.state["reached"].all()


def test_a_chef_of_the_games_actions_and_one_that_chooses_cells_cook_together():
    """The first always interacts; the second has its own kind of actions, whatever the first has."""
    stubborn = loaded(
        SELF_PLAY,
        dataclasses.replace(SELF_PLAY_SMOKE, max_episode_steps=STEPS),
        "selfplay",
        stubborn_team(SELF_PLAY_SMOKE, INTERACT),
    )
    config = dataclasses.replace(SMOKE, max_episode_steps=STEPS)
    for method in (f"sama-{KITCHEN}", f"mappo-{KITCHEN}"):
        other = loaded(SAMA, config, method)
        for pair in ((stubborn, other), (other, stubborn)):
            found = meet(*pair, 4)
            assert found["soups"].shape == (4,)
            assert (found["length"] == STEPS).all()
    assert len(ACTIONS) < loaded(SAMA, config, f"mappo-{KITCHEN}").policy.policy_head.policy.out_features


@pytest.mark.long
def test_a_team_of_sama_that_meets_itself_plays_as_under_its_planner_without_reflections():
    team = load_policy(PRETRAINED / "sama_cramped_room")
    unreflected = dataclasses.replace(team.config, reflections=0)
    alone = planned_episodes(unreflected, team.method, team.policy, 3)
    met = meet(team, team, 3)
    np.testing.assert_array_equal(met["soups"], alone["soups"])
    assert met["soups"].min() > 3
