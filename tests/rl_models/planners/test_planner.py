"""Every reply of a planner's model is checked: what is of no use is asked again, then answered by rule and counted."""

import pytest

from rl_models.planners.briefing import Briefing
from rl_models.planners.goal_generators import DepsGoals, Plan4McGoals, first_skill
from rl_models.planners.noisy import NOISES, Noise, NoisyBackend
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Memory, Plan, Round
from tests.rl_models.planners.callers import Model, caller
from tests.rl_models.planners.office import PostOffice, write

DOMAIN = PostOffice()
STATE = write(0, 0, 0, "not weighed", 2, 3)
PASS, WAIT = "bring a letter from the sack to the counter", "wait at the counter"
FETCH = "bring a letter from the counter to the box"


def planner(model, objects=DOMAIN.objects, **briefing):
    return Planner(caller(model), DOMAIN, Briefing(DOMAIN.manual, objects, **briefing))


def test_the_rules_answer_as_text_that_passes_every_check():
    states = DOMAIN.diverse_states(40, seed=2)
    one = planner(Model())
    plans = one.plan(states)
    assert one.caller.counts == {"asked": 80, "answered": 80}
    for state, plan in zip(states, plans, strict=True):
        assert plan.subgoals == DOMAIN.decompose(state, None, ()).subgoals
        assert plan.commands == tuple(plan.subgoals[place] for place in plan.order)


@pytest.mark.parametrize("wording", [f"{PASS}.", PASS.upper(), f"One clerk: {PASS}", "1. " + PASS])
def test_a_subgoal_may_be_worded_a_little_differently(wording):
    model = Model(decomposition=[{"goal": "sort  the mail", "subgoals": [wording, WAIT]}])
    (plan,) = planner(model).plan([STATE])
    assert (plan.goal, plan.subgoals) == ("sort the mail", (PASS, WAIT))
    assert plan.commands == (WAIT, PASS)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"goal": "g", "subgoals": [PASS]}, "2"),
        ({"goal": "g", "subgoals": [PASS, "fly to the moon"]}, "sub-goal"),
        ({"goal": "g", "subgoals": [PASS, "bring a letter to the counter"]}, "sub-goal"),
        ({"goal": "", "subgoals": [PASS, WAIT]}, "goal"),
        ({"goal": "g" * 300, "subgoals": [PASS, WAIT]}, "200"),
        ({"goal": "g", "subgoals": [PASS] * 50}, "subgoals"),
        ({"goal": "g", "subgoals": "both"}, "subgoals"),
        ({"subgoals": [PASS, WAIT]}, "goal"),
        ("I would rather not.", "JSON"),
        ("x" * 10_000, "8000"),
    ],
)
def test_a_decomposition_of_another_form_is_asked_again_and_then_made_by_rule(reply, reason):
    model = Model(decomposition=[reply])
    one = planner(model)
    (plan,) = one.plan([STATE])
    assert plan.subgoals == DOMAIN.decompose(STATE, None, ()).subgoals
    assert one.caller.counts["rejected"] == 3
    assert one.caller.counts["fallback"] == 1
    again = model.of("decomposition")[1].messages[-1].content
    assert reason in again


@pytest.mark.parametrize("numbers", [[1, 1], [1], [1, 2, 3], [0, 1], [2, 3], ["a", "b"], [1.5, 2]])
def test_an_allocation_that_is_none_is_made_by_rule(numbers):
    one = planner(Model(allocation=[{"numbers": numbers}]))
    (plan,) = one.plan([STATE])
    assert plan.commands == (WAIT, PASS)
    assert one.caller.counts["fallback"] == 1


def test_a_reply_gets_better_when_asked_again():
    good = {"goal": "sort the mail", "subgoals": [PASS, WAIT]}
    model = Model(decomposition=[{"goal": "g", "subgoals": []}, good])
    one = planner(model)
    (plan,) = one.plan([STATE])
    assert (plan.subgoals, one.caller.counts["rejected"]) == ((PASS, WAIT), 1)
    assert "fallback" not in one.caller.counts


def fail(one, commands, memory):
    """A plan that gives these sub-goals to these chefs, reflected upon."""
    plan = Plan(STATE, "sort the mail", commands, (0, 1), commands)
    return one.revise([Round(plan, memory, (False, False))])[0]


def test_reflection_mends_the_phase_that_was_at_fault():
    memory = Memory()
    better = fail(planner(Model()), (PASS, WAIT), memory)
    assert memory.failures[-1].phase == "allocation"
    assert better.commands == (WAIT, PASS)
    memory = Memory()
    better = fail(planner(Model()), (FETCH, PASS), memory)
    assert memory.failures[-1].phase == "decomposition"
    assert better.commands == (WAIT, PASS)


def test_an_allocation_is_not_blamed_twice():
    memory = Memory()
    one = planner(Model(fault=[{"phase": "allocation"}]))
    fail(one, (PASS, WAIT), memory)
    fail(one, (WAIT, PASS), memory)
    assert [failure.phase for failure in memory.failures] == ["allocation", "decomposition"]


def test_what_has_failed_is_shown_and_refused():
    memory = Memory()
    same = {"goal": "sort the mail", "subgoals": [WAIT, PASS]}
    model = Model(fault=[{"phase": "decomposition"}], decomposition=[same])
    one = planner(model)
    better = fail(one, (PASS, WAIT), memory)
    assert set(better.subgoals) != {PASS, WAIT}
    assert one.caller.counts["fallback"] == 1
    shown = model.of("decomposition")[0].messages[-1].content
    assert f"told: {PASS}; {WAIT}; at fault: decomposition" in shown
    assert len(model.of("decomposition")[1].messages) > len(model.of("decomposition")[0].messages)


def test_without_objects_the_prompt_lists_no_subgoals():
    for objects, lists_them in (((), False), (DOMAIN.objects, True)):
        model = Model()
        planner(model, objects).plan([STATE])
        assert (f"- {PASS}" in model.of("decomposition")[0].messages[0].content) == lists_them


@pytest.mark.parametrize("shots", [0, 1, 3])
def test_as_many_examples_are_shown_as_asked_for(shots):
    model = Model()
    planner(model, shots=shots).plan([STATE])
    for stage in ("decomposition", "allocation"):
        assert model.of(stage)[0].messages[0].content.count("Answer: {") == shots


def test_text_of_the_world_is_never_read_as_a_prompt():
    briefing = Briefing("Cost: $situation ${goal} $$", ("box",))
    model = Model()
    Planner(caller(model), DOMAIN, briefing).plan([STATE])
    assert "Cost: $situation ${goal} $$" in model.asked[0].messages[0].content


# ------------------------------------------------------------------------------- goals


def test_deps_works_off_its_list_and_writes_a_new_one_after_a_failure():
    model = Model(goals=[{"lines": ["sort the mail", "Send the mail."]}, {"lines": ["keep ready"]}])
    goals = DepsGoals(caller(model), DOMAIN)
    assert goals.goals([4], [STATE]) == ["sort the mail"]
    goals.after_round(4, "sort the mail", is_reached=True)
    assert goals.goals([4], [STATE]) == ["send the mail"]
    assert len(model.of("goals")) == 1
    goals.after_round(4, "send the mail", is_reached=False)
    assert goals.goals([4], [STATE]) == ["keep ready"]
    assert "Failed goal: send the mail." in model.of("goals")[1].messages[-1].content
    goals.begin_episode(4)
    assert goals.goals([4], [STATE]) == ["keep ready"]
    assert "Failed goal: none." in model.of("goals")[2].messages[-1].content


def test_deps_takes_no_goal_of_its_own_making():
    model = Model(goals=[{"lines": ["burn the office down"]}])
    asked = caller(model)
    assert DepsGoals(asked, DOMAIN).goals([0], [STATE]) == [DOMAIN.goal_list(STATE, 1)[0]]
    assert asked.counts["fallback"] == 1


def test_plan4mc_searches_the_graph_of_skills():
    goals = Plan4McGoals(DOMAIN)
    assert goals.goals([0], [STATE]) == ["sort the mail"]
    lying = STATE.replace("0 letters", "1 letters")
    assert lying != STATE
    assert goals.goals([0], [lying]) == ["weigh the mail"]
    weighed = lying.replace("not weighed", "weighed")
    assert goals.goals([0], [weighed]) == ["send the mail"]
    assert first_skill(DOMAIN.skills, frozenset(), frozenset({"never"})) is None


# ------------------------------------------------------------------------------- noise


def test_noise_errs_as_often_as_it_says_and_the_same_way_each_time():
    states = DOMAIN.diverse_states(150, seed=7)
    right = [DOMAIN.decompose(state, None, ()).subgoals for state in states]
    shares = {}
    for name, noise in {"none": Noise(), **NOISES}.items():
        found = [plan.subgoals for plan in noisy(noise).plan(states)]
        assert found[:20] == [plan.subgoals for plan in noisy(noise).plan(states[:20])]
        shares[name] = sum(one != other for one, other in zip(found, right, strict=True)) / len(states)
    assert shares["none"] == 0
    assert shares["weak"] == pytest.approx(NOISES["weak"].decomposition, abs=0.1)
    assert shares["weaker"] == pytest.approx(NOISES["weaker"].decomposition, abs=0.1)


def test_noise_of_one_phase_leaves_the_other_alone():
    states = DOMAIN.diverse_states(100, seed=8)
    plans = noisy(Noise(allocation=1.0)).plan(states)
    assert all(plan.subgoals == DOMAIN.decompose(plan.state, None, ()).subgoals for plan in plans)
    right = [DOMAIN.allocate(plan.state, plan.subgoals, ()).order for plan in plans]
    assert 20 < sum(plan.order != order for plan, order in zip(plans, right, strict=True)) < 80


def noisy(noise):
    return Planner(caller(NoisyBackend(DOMAIN, noise, seed=1)), DOMAIN)
