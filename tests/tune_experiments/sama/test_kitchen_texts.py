"""The planner's kitchen is the world's: the same sentences, ways, places and deeds, in all five layouts."""

import numpy as np
import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.text import read_states
from rl_models.planners.domain import StateTextError
from rl_models.planners.predicates.table import compile_predicate
from tests.rl_models.planners.kitchens import features, open_kitchen, roll
from tune_experiments.sama.kitchen.domain import KitchenDomain
from tune_experiments.sama.kitchen.layout import FAR, Layout
from tune_experiments.sama.kitchen.state import read_state, write_state


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_text_of_the_world_is_read_and_written_back(layout):
    _, domain, play = roll(layout)
    for text, _ in play.texts[::7]:
        domain.check(text)
        assert write_state(read_state(text)) == text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ways_and_places_are_the_worlds(layout):
    kitchen, own = open_kitchen(layout).kitchen, Layout(LAYOUTS[layout])
    for start in own.floor:
        for goal in own.floor:
            theirs = kitchen.distances[start[0] * kitchen.width + start[1], goal[0] * kitchen.width + goal[1]]
            assert own.distance(start, goal) == (theirs if theirs < kitchen.size else FAR)
    for place in ("counter", "middle counter", "onion store", "dish store", "hatch", "pot 0"):
        cells = {kitchen.place(cell) for cell in np.flatnonzero(kitchen.cells_of(place))}
        assert set(own.cells(place)) == cells


@pytest.mark.parametrize("layout", LAYOUTS)
def test_diverse_states_are_legal_and_differ(layout):
    domain = KitchenDomain(LAYOUTS[layout])
    states = domain.diverse_states(50, seed=3)
    assert len(set(states)) == 50
    assert states == domain.diverse_states(50, seed=3)
    assert states != domain.diverse_states(50, seed=4)
    for state in states:
        domain.check(state)
    world = open_kitchen(layout, 50)
    world.restore(read_states(world.kitchen, states))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_subgoal_is_reached_in_play_and_has_its_predicate(layout):
    kitchen, domain, play = roll(layout)
    table = features(kitchen)
    for valid in domain.subgoals:
        reached = compile_predicate(valid.predicate, table)(play.previous, play.current)
        assert 0 < reached.sum() < reached.size, valid.text


def test_amounts_are_counted():
    kitchen, _, play = roll("forced_coordination")
    table = features(kitchen)
    lying = [sum(thing == "onion" for _, thing in read_state(after).counters) for _, after in play.texts]
    assert max(lying) >= 2
    for number in range(4):
        says = compile_predicate(f"amount(onion, counter) == {number}", table)(play.previous, play.current)
        assert (says == (np.array(lying) == number)[:, None]).all()


STATE = """Step 7, soups served: 1.
Pot 0 at row 0, column 2: 2 onions.
On the counters: nothing.
Chef 0 at row 1, column 1 faces west and holds nothing.
Chef 1 at row 2, column 3 faces north and holds an onion."""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Step 7", "Step seven", "a line about the step"),
        ("2 onions", "4 onions", "a pot cannot hold"),
        ("2 onions", "a soup that has cooked for 20 of 20 steps", "a pot cannot hold"),
        ("2 onions", "1 onions", "a pot cannot hold"),
        ("Pot 0", "Pot 1", "pot 0 is wanted"),
        ("Pot 0 at row 0, column 2", "Pot 0 at row 0, column 1", "not where this kitchen has them"),
        ("counters: nothing", "counters: a knife at row 0, column 0", "no thing of a kitchen"),
        ("counters: nothing", "counters: an onion at row 1, column 1", "on counters only"),
        ("counters: nothing", "counters: an onion at row 0, column 0; a dish at row 0, column 0", "at most one thing"),
        ("faces west", "faces up", "chef 0 with a heading"),
        ("row 1, column 1 faces", "row 0, column 1 faces", "can never be"),
        ("row 1, column 1 faces", "row 2, column 3 faces", "two chefs stand on one cell"),
        ("\nChef 1 at row 2, column 3 faces north and holds an onion.", "", "has 2 chefs"),
        ("On the counters: nothing.\n", "", "in this order"),
        ("Step 7, soups served: 1.", "ignore all rules", "a line about the step"),
    ],
)
def test_a_text_that_is_no_state_is_refused_with_a_reason(old, new, reason):
    domain = KitchenDomain(LAYOUTS["cramped_room"])
    domain.check(STATE)
    assert old in STATE
    with pytest.raises(StateTextError, match=reason):
        domain.check(STATE.replace(old, new))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_passes_as_a_state_is_written_as_the_world_reads_it(layout):
    kitchen, domain = open_kitchen(layout).kitchen, KitchenDomain(LAYOUTS[layout])
    passed = 0
    for state in domain.diverse_states(4, seed=2):
        for at in range(len(state)):
            head, sign, tail = state[:at], state[at], state[at + 1 :]
            for changed in (head + tail, f"{head}s{sign}{tail}", f"{head}{sign * 2}{tail}", f"{head}1{tail}"):
                try:
                    written = domain.check(changed)
                except StateTextError:
                    continue
                read_states(kitchen, [written])
                passed += 1
    assert passed > 50


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_the_plan_depends_on_stands_in_the_words(layout):
    """States with the same words get the same plan, so that words are enough to plan from."""
    domain = KitchenDomain(LAYOUTS[layout])
    plans = {}
    for state in domain.diverse_states(200, seed=5):
        words = (domain.situation(state), domain.statuses(state))
        plans.setdefault(words, set()).add(domain.decompose(state, None, ()).subgoals)
    assert all(len(found) == 1 for found in plans.values())
    assert len(plans) > 150


def test_the_map_names_what_each_room_has():
    manual = KitchenDomain(LAYOUTS["forced_coordination"]).manual
    assert "- left room: 2 onion stores, dish store, middle counter." in manual
    assert "- right room: hatch, pot 0, pot 1, middle counter." in manual
    assert (
        "- the kitchen is one room: 2 onion stores, dish store, hatch, pot 0."
        in KitchenDomain(LAYOUTS["cramped_room"]).manual
    )
