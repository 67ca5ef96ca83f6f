"""The offline rules plan as a sensible cook would, and serve soups in all five kitchens."""

import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.planners.planner import Planner
from rl_models.planners.rounds import PlanningLoop
from tests.tune_experiments.sama.kitchens import caller_of, play
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.subgoals import FAR, Reachability, Scene, cost, emptied_pots


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
