"""Rounds in real kitchens, and the kitchen's rules: they say what they said when they were recorded."""

import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.chat.client import ChatClient
from rl_models.chat.record import Replay
from rl_models.planners.calling import Caller
from rl_models.planners.goal_generators import DepsGoals, Plan4McGoals
from rl_models.planners.planner import Planner
from rl_models.planners.rounds import PlanningLoop
from rl_models.planners.transcript import Transcript
from tests.tune_experiments.sama.kitchens import caller_of, play
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.subgoals import FAR, Reachability, Scene, cost, emptied_pots

DOMAIN = get_domain("cramped_room")


def cook(caller, goals=None, steps=400, **arguments):
    """One episode; its numbers and the loop's counts."""
    loop = PlanningLoop(Planner(caller, DOMAIN), goals, **arguments)
    return play("cramped_room", loop, steps), loop.counts


@pytest.mark.long
def test_reflection_mends_what_a_weaker_planner_gets_wrong():
    without, counts = cook(caller_of("cramped_room", "weaker"), max_reflections=0)
    assert (counts["reflections"], without["wasted_steps"]) == (0, 0)
    reflecting, counts = cook(caller_of("cramped_room", "weaker"), max_reflections=3)
    assert counts["reflections"] > 0
    assert reflecting["wasted_steps"] > 0
    assert reflecting["standing_soups"] > without["standing_soups"]


@pytest.mark.parametrize("goals", [DepsGoals, lambda caller, domain: Plan4McGoals(domain)], ids=["DEPS", "Plan4MC"])
def test_other_goal_generators_serve_soups_too(goals):
    caller = caller_of("cramped_room")
    found, _ = cook(caller, goals(caller, DOMAIN))
    assert found["soups"] >= 2
    assert "fallback" not in caller.counts


@pytest.mark.long
def test_a_run_repeats_from_its_record_and_its_transcript_tells_it(tmp_path):
    caller = caller_of("cramped_room", "weaker", 3, tmp_path)
    found, counts = cook(caller, steps=120)
    text = (tmp_path / "planner.md").read_text()
    assert text == caller.transcript.text
    client = ChatClient(Replay(tmp_path / "planner.jsonl"), 1)
    again = Caller(client, "noisy-0.6-0.4-0.3-3", Transcript(), 3)
    assert cook(again, steps=120) == (found, counts)
    assert again.counts == caller.counts | {"recorded": caller.counts["asked"]}
    assert again.transcript.text == text
    for heading in ("# Transcript", "### Call: decomposition", "### Call: allocation", "### Call: fault"):
        assert heading in text
    assert text.count("planned again") == counts["reflections"] == text.count("## Reflection")
    assert text.count(" ended\n") == counts["rounds"]
    assert text.count("    Two chefs share a kitchen") == 3  # instructions are told once each


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
    assert loop.counts["reached"] > 0.4 * loop.counts["rounds"]
    assert caller.counts["asked"] == caller.counts["answered"]
