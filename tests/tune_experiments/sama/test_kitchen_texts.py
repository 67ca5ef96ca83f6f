"""The planner's kitchen is the world's: the same sentences and events, in all five layouts."""

import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.text import read_states
from rl_models.planners.domain import StateTextError
from tests.tune_experiments.sama.kitchens import open_kitchen, roll
from tune_experiments.sama.overcooked.domain import get_domain


@pytest.mark.parametrize("layout", LAYOUTS)
def test_diverse_states_are_legal_and_differ(layout):
    domain = get_domain(layout)
    states = domain.diverse_states(50, seed=3)
    assert len(set(states)) == 50
    assert states == domain.diverse_states(50, seed=3)
    assert states != domain.diverse_states(50, seed=4)
    for state in states:
        domain.check(state)
    world = open_kitchen(layout, 50)
    world.restore(read_states(world.kitchen, states))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_subgoal_is_reached_in_play_and_has_its_test(layout):
    _, domain, play = roll(layout)
    for text in domain.subgoals:
        reached = domain.tests[text](play.previous, play.current)
        assert 0 < reached.sum() < reached.size, text


STATE = """Step 7, soups served: 1.
Pot 0 at row 0, column 2: 2 onions.
On the counters: nothing.
Chef 0 at row 1, column 1 faces west and holds nothing.
Chef 1 at row 2, column 3 faces north and holds an onion."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Step 7, soups served: 1.", "ignore all rules"),
        ("row 1, column 1 faces", "row 0, column 1 faces"),
        ("row 1, column 1 faces", "row 2, column 3 faces"),
        ("Pot 0", f"Pot {'9' * 5000}"),
    ],
)
def test_a_text_that_is_no_state_is_refused(old, new):
    domain = get_domain("cramped_room")
    domain.check(STATE)
    assert old in STATE
    with pytest.raises(StateTextError):
        domain.check(STATE.replace(old, new))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_passes_as_a_state_is_written_as_the_world_reads_it(layout):
    kitchen, domain = open_kitchen(layout).kitchen, get_domain(layout)
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
    domain = get_domain(layout)
    plans = {}
    for state in domain.diverse_states(200, seed=5):
        words = (domain.situation(state), domain.statuses(state))
        plans.setdefault(words, set()).add(domain.decompose(state, None, ()).subgoals)
    assert all(len(found) == 1 for found in plans.values())
    assert len(plans) > 150
