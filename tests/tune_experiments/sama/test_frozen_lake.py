"""SAMA on the frozen lake: what the rules know, rounds that are undone, and that the map alone makes planners win."""

import dataclasses
import functools
import re

import numpy as np
import pytest

from rl_envs.frozen_lake_spread.maps import get_lake
from rl_envs.frozen_lake_spread.text import describe
from rl_envs.testing import check_world
from tests.tune_experiments.fragments import play, unmoved
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.sama.frozen_lake.domain import STAY, LakeDomain, command_texts
from tune_experiments.sama.frozen_lake.trials import PLANNERS, CommandedLake, SubgoalLake, plan, planned, walker

EXPERIMENT = find_experiment("sama_frozen_lake")
SMOKE, LAPTOP = (EXPERIMENT.presets[name] for name in ("smoke", "laptop"))
LAKE = get_lake("4x4")
START = describe(LAKE, LAKE.starts, np.zeros(2, int), 0)


def domain(knowledge, name="4x4"):
    return LakeDomain(get_lake(name), knowledge)


def test_only_the_privileged_are_told_where_holes_and_targets_are():
    places = re.compile(r"row \d")
    assert not places.search(domain("blind").manual) and not places.search(domain("remembering").manual)
    assert "row 2, column 2" in domain("privileged").manual  # a hole
    assert "row 4, column 4" in domain("privileged").manual  # a target


def test_blind_rules_send_agents_to_far_corners_and_never_repeat_a_failure():
    own = domain("blind")
    failed, seen = set(), []
    for _ in range(2):
        found = own.decompose(START, None, failed)
        seen.append(found.subgoals)
        failed.add(tuple(sorted(found.subgoals)))
    assert set(seen[0]) == {"go to row 4, column 1", "go to row 4, column 4"}


def test_remembering_rules_avoid_every_cell_of_what_failed():
    own = domain("remembering")
    first = own.decompose(START, None, ())
    again = own.decompose(START, None, {tuple(sorted(first.subgoals))})
    assert not set(first.subgoals) & set(again.subgoals)


def test_an_agent_on_its_target_is_told_to_stay():
    state = describe(LAKE, np.array([13, 3]), np.array([1, 0]), 5)
    for knowledge in ("blind", "remembering", "privileged"):
        own = domain(knowledge)
        found = own.decompose(state, None, ())
        order = own.allocate(state, found.subgoals, ()).order
        assert found.subgoals[order[0]] == STAY and found.subgoals[order[1]] != STAY
    assert own.facts(state) == {"agent 1 is on a target"}


@pytest.mark.processes
@pytest.mark.parametrize("world", [CommandedLake, SubgoalLake])
def test_worlds_with_commands_keep_the_contract(world):
    check_world(functools.partial(world, max_episode_steps=9))


def test_an_agent_rests_once_it_is_where_it_was_told_to_go():
    world = CommandedLake(1)
    world.reset(0)
    world.command([0], [[command_texts(4)[4], STAY]])
    for _ in range(3):
        world.step(walker(world))
    assert world.state["cells"].tolist() == [[4, 3]] and world.state["reached"].all()


def test_a_round_pays_each_agent_for_its_own_cell_and_is_over_when_both_are_there():
    world = SubgoalLake(400, max_episode_steps=12)
    world.reset(0)
    ends, paid = 0, np.zeros((400, 2))
    start = world.state["reached"].copy()
    world.auto_resets = False
    for _ in range(12):
        _, reward, terminated, _, _ = world.step(walker(world))
        paid += reward
        ends = terminated
    np.testing.assert_array_equal(paid, world.state["reached"] & ~start)
    np.testing.assert_array_equal(ends, world.state["reached"].all(1) | world.state["out"].any(1))
    assert 0 < paid.mean() < 1


@pytest.mark.parametrize("name", ["4x4", "8x8"])
def test_a_planner_that_is_told_the_map_always_wins_and_one_that_is_not_never_does(name):
    config = dataclasses.replace(SMOKE, map=name)
    assert planned(config, "sama privileged", walker)["success"].tolist() == [1.0]
    for planner in ("sama blind", "deps", "plan4mc"):
        assert planned(config, planner, walker)["success"].tolist() == [0.0]


def test_a_fall_is_undone_while_there_are_tries_and_then_ends_the_episode():
    found = planned(dataclasses.replace(SMOKE, reflections=0), "sama remembering", walker)
    assert (found["undone_steps"] == 0).all()
    again = planned(SMOKE, "sama remembering", walker)
    assert (again["undone_steps"] > 0).all() and (again["rounds"] > found["rounds"]).all()


@pytest.mark.parametrize("planner", PLANNERS)
def test_every_planner_plays_slippery_lakes_to_an_end(planner):
    found = planned(dataclasses.replace(SMOKE, map="random-8x8", slippery=True), planner, walker)
    assert ((found["success"] + found["fell"]) <= 1).all() and (found["rounds"] > 0).all()


def test_both_rows_learn_from_what_they_should_see():
    for method, width in (("mappo", 16), ("sama", 16 + 9)):
        trial = plan(SMOKE, method, 0)
        policy, fragment = play(trial)
        unmoved(trial, policy, fragment)
        assert sum(value.shape[-1] for value in fragment.obs.values()) == width
        tests = EXPERIMENT.evaluate(SMOKE, method, policy)
        assert len(tests) == (2 if method == "mappo" else 2 * len(PLANNERS))
