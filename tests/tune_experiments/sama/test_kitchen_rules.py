"""The offline rules plan as a sensible cook would, and serve soups in all five kitchens."""

import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.planners.planner import Planner
from rl_models.planners.rounds import PlanningLoop
from tests.tune_experiments.sama.kitchens import caller_of, open_kitchen, play, texts
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.scene import FAR, Reachability, Scene
from tune_experiments.sama.overcooked.subgoals import cost, emptied_pots


def begin(domain, state, subgoals, order):
    """Steps each chef needs for what it is given."""
    scene, kinds = Scene(Reachability(Kitchen(domain.name)), state), [domain.kinds[text] for text in subgoals]
    return [cost(scene, chef, kinds[which], emptied_pots(kinds)) for chef, which in enumerate(order)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_subgoal_can_begin_at_once_with_its_chef(layout):
    domain = get_domain(layout)
    for state in domain.diverse_states(100, seed=0):
        subgoals = domain.decompose(state, None, ()).subgoals
        order = domain.allocate(state, subgoals, ()).order
        assert max(begin(domain, state, subgoals, order)) < FAR


def first_plan(layout):
    domain, state = get_domain(layout), texts(open_kitchen(layout))[0]
    found = domain.decompose(state, None, ())
    order = domain.allocate(state, found.subgoals, ()).order
    return found.goal, [found.subgoals[which] for which in order]


def test_in_separate_rooms_one_hands_over_and_the_other_waits():
    goal, commands = first_plan("forced_coordination")
    assert goal == "make onion soup"
    assert commands == ["wait at the middle counter", "bring an onion from the onion store to the middle counter"]


def test_in_one_room_both_fetch_onions():
    goal, commands = first_plan("cramped_room")
    assert (goal, commands) == ("make onion soup", ["bring an onion from the onion store to pot 0"] * 2)


STATE = """Step 50, soups served: 0.
Pot 0 at row 0, column 2: {pot}.
On the counters: {counters}.
Chef 0 at row 1, column 1 faces west and holds {first}.
Chef 1 at row 2, column 3 faces north and holds {second}."""


@pytest.mark.parametrize(
    ("pot", "first", "second", "goal", "commands"),
    [
        (
            "a soup that is done",
            "a dish",
            "nothing",
            "serve onion soup",
            ["fill a dish with the soup of pot 0", "wait"],
        ),
        ("2 onions", "a soup", "nothing", "serve onion soup", ["bring a soup to the hatch", "bring an onion"]),
        ("a soup that has cooked for 5 of 20 steps", "nothing", "nothing", "prepare a dish", ["take a dish", "wait"]),
        ("a soup that is done", "an onion", "an onion", "keep ready", ["wait", "lay the onion down"]),
        ("empty", "a dish", "an onion", "make onion soup", ["lay the dish", "bring an onion from the onion store to"]),
    ],
)
def test_the_goal_is_what_is_nearest_to_a_served_soup(pot, first, second, goal, commands):
    domain = get_domain("cramped_room")
    state = STATE.format(pot=pot, first=first, second=second, counters="nothing")
    found = domain.decompose(state, None, ())
    allocated = [found.subgoals[which] for which in domain.allocate(state, found.subgoals, ()).order]
    assert found.goal == goal
    for text, wanted in zip(allocated, commands, strict=True):
        assert text.startswith(wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_has_failed_does_not_come_again(layout):
    domain = get_domain(layout)
    for state in domain.diverse_states(30, seed=1):
        failed, seen = set(), []
        for _ in range(3):
            seen.append(tuple(sorted(domain.decompose(state, None, failed).subgoals)))
            failed.add(seen[-1])
        assert seen[0] != seen[1]
        assert seen[2] not in seen[:2] or len(domain.kinds) < 10
        subgoals = domain.decompose(state, None, ()).subgoals
        order = domain.allocate(state, subgoals, ()).order
        other = domain.allocate(state, subgoals, {tuple(subgoals[which] for which in order)}).order
        assert other != order or subgoals[0] == subgoals[1]


def test_a_goal_that_is_given_is_decomposed():
    domain, state = get_domain("cramped_room"), texts(open_kitchen("cramped_room"))[0]
    found = domain.decompose(state, "prepare a dish", ())
    assert found.goal == "prepare a dish"
    assert "take a dish from the dish store" in found.subgoals


def test_the_fault_is_found_where_it_is():
    domain, state = get_domain("forced_coordination"), texts(open_kitchen("forced_coordination"))[0]
    bring, take = "bring an onion from the onion store to the middle counter", "bring an onion from the middle counter"
    wait = "wait at the middle counter"
    assert domain.find_fault(state, (bring, f"{take} to pot 0"), (1, 0)).phase == "decomposition"
    assert domain.find_fault(state, (bring, wait), (0, 1)).phase == "allocation"
    assert domain.find_fault(state, (bring, bring), (0, 1)).phase == "decomposition"


SOUPS = {
    "cramped_room": 5,
    "asymmetric_advantages": 12,
    "coordination_ring": 3,
    "forced_coordination": 9,
    "counter_circuit_o_1order": 3,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chefs_who_heed_the_plans_serve_soups(layout):
    caller = caller_of(layout)
    loop = PlanningLoop(Planner(caller, get_domain(layout)))
    assert play(layout, loop)["soups"] >= SOUPS[layout]
    assert loop.counts.reached > 0.4 * loop.counts.rounds
    assert caller.counts["asked"] == caller.counts["answered"]
