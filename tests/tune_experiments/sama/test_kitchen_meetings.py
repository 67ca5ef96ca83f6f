"""Meetings: a planner commands its own chefs alone, and each chef acts as it has learned."""

import dataclasses

import numpy as np
import pytest

from rl_models.planners.rounds import PlanningLoop
from tests.tune_experiments.overcooked.runs import INTERACT, stubborn_team
from tune_experiments.overcooked_selfplay import EXPERIMENT as SELF_PLAY
from tune_experiments.overcooked_selfplay import SMOKE as SELF_PLAY_SMOKE
from tune_experiments.play.loading import LoadedPolicy, load_policy
from tune_experiments.play.team_paths import PRETRAINED
from tune_experiments.sama.overcooked.evaluation import planned_episodes
from tune_experiments.sama.overcooked.meetings import Commander, MeetingKitchen, meet
from tune_experiments.sama.planning import make_planning_loop
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
    commander = Commander(make_planning_loop(UNREFLECTED, KITCHEN, 0), (chef,), ROUND, np.zeros(3, int))
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


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("method", [f"sama-{KITCHEN}", f"mappo-{KITCHEN}"])
def test_each_chef_has_its_own_kind_of_actions_and_commands_come_to_samas_alone(monkeypatch, place, method):
    """The chef of self-play interacts at nearly every step, so it stays where it began; the other one walks."""
    config = dataclasses.replace(SELF_PLAY_SMOKE, max_episode_steps=STEPS)
    stubborn = loaded(SELF_PLAY, config, "selfplay", stubborn_team(config, INTERACT))
    other = loaded(SAMA, dataclasses.replace(SMOKE, max_episode_steps=STEPS), method)
    cells, commands = [], []

    def remember(world, actions, step=MeetingKitchen.step):
        cells.append(world.state["agent_cells"].copy())
        commands.append(world.observe()["commands"].any(-1))
        return step(world, actions)

    monkeypatch.setattr(MeetingKitchen, "step", remember)
    found = meet(*((stubborn, other) if place == 0 else (other, stubborn)), 4)
    assert (found["length"] == STEPS).all()
    moved = (np.stack(cells) != cells[0]).any((0, 1))
    assert moved.tolist() == [place == 1, place == 0]
    commanded = np.stack(commands).any((0, 1))
    assert commanded.tolist() == [chef != place and method.startswith("sama") for chef in range(2)]


def test_planners_plan_the_episode_that_is_played_and_no_other(monkeypatch):
    begun = []
    begin = PlanningLoop.begin
    monkeypatch.setattr(PlanningLoop, "begin", lambda loop, states: begun.append(len(states)) or begin(loop, states))
    team = loaded(SAMA, dataclasses.replace(SMOKE, max_episode_steps=STEPS), f"sama-{KITCHEN}")
    meet(team, team, 3)
    assert begun == [3]


@pytest.mark.long
def test_a_team_of_sama_that_meets_itself_plays_as_under_its_planner_without_reflections():
    team = load_policy(PRETRAINED / "sama_cramped_room")
    unreflected = dataclasses.replace(team.config, reflections=0, is_greedy=False)
    alone = planned_episodes(unreflected, team.method, team.policy, 3)
    met = meet(team, team, 3)
    np.testing.assert_array_equal(met["soups"], alone["soups"])
    assert met["soups"].min() > 3
