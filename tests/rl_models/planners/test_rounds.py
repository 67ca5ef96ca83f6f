"""Rounds: a failure is reflected upon from where its round began, at most three times, and everything can be read."""

import dataclasses

import pytest

from rl_models.planners.commander import RandomCommander
from rl_models.planners.goal_generators import DepsGoals
from rl_models.planners.planner import Planner
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from tests.rl_models.planners.callers import caller
from tests.rl_models.planners.office import PostOffice

DOMAIN = PostOffice()
STATES = DOMAIN.diverse_states(6, seed=11)


def loop(**arguments):
    return PlanningLoop(Planner(caller(), DOMAIN), **arguments)


def test_a_round_that_succeeds_is_followed_by_one_from_the_state_it_left():
    one = loop()
    first = one.begin({5: STATES[0]})[5]
    assert first.state == STATES[0]
    following = one.end_rounds({5: RoundEnd(STATES[1], (True, True))})[5]
    assert (following.recovers, following.plan.state) == (False, STATES[1])
    assert [one.counts[name] for name in ("rounds", "reached", "reflections")] == [1, 1, 0]


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_a_round_that_fails_is_tried_again_from_its_beginning_so_often_and_no_more(most):
    one = loop(max_reflections=most)
    seen = [one.begin({5: STATES[0]})[5].commands]
    for _ in range(most):
        following = one.end_rounds({5: RoundEnd(STATES[1], (True, False))})[5]
        assert (following.recovers, following.plan.state) == (True, STATES[0])
        seen.append(following.plan.commands)
    assert len(set(seen)) == most + 1
    following = one.end_rounds({5: RoundEnd(STATES[1], (False, False))})[5]
    assert (following.recovers, following.plan.state) == (False, STATES[1])
    assert [one.counts[name] for name in ("failed", "reflections", "given_up")] == [most + 1, most, int(most > 0)]


def test_after_giving_up_and_after_success_there_are_new_tries():
    one = loop(max_reflections=1)
    one.begin({5: STATES[0]})
    fails = [one.end_rounds({5: RoundEnd(STATES[n], (False, True))})[5].recovers for n in (1, 2, 3)]
    assert fails == [True, False, True]
    one.end_rounds({5: RoundEnd(STATES[4], (True, True))})
    assert one.end_rounds({5: RoundEnd(STATES[0], (False, True))})[5].recovers


def test_worlds_of_a_batch_keep_their_own_rounds():
    together, alone = loop(), [loop() for _ in range(3)]
    states = dict(enumerate(STATES[:3]))
    plans = together.begin(states)
    assert plans == {n: alone[n].begin({n: states[n]})[n] for n in states}
    ends = {n: RoundEnd(STATES[n + 3], (n != 1, True)) for n in states}
    assert together.end_rounds(ends) == {n: alone[n].end_rounds({n: ends[n]})[n] for n in states}


@pytest.mark.long
def test_a_commander_replaces_the_share_it_is_told():
    states = dict(enumerate(DOMAIN.diverse_states(150, seed=3)))
    plans = loop().begin(states)
    replaced = {}
    for share in (0.0, 0.5, 1.0):
        commanded = loop(commander=RandomCommander(DOMAIN, share, seed=2)).begin(states)
        pairs = [(a, b) for n in states for a, b in zip(plans[n].commands, commanded[n].commands, strict=True)]
        replaced[share] = {place for place, (a, b) in enumerate(pairs) if a != b}
        assert all(plan.allocated == plans[n].allocated for n, plan in commanded.items())
    assert replaced[0.0] == set()
    assert replaced[0.5] < replaced[1.0]
    assert 0.35 * 300 < len(replaced[0.5]) < 0.6 * 300
    assert len(replaced[1.0]) > 0.85 * 300
    with pytest.raises(ValueError, match="0"):
        RandomCommander(DOMAIN, 1.5)


def test_states_met_are_kept_for_fine_tuning():
    met = {}
    plans = loop(visited=met).begin(dict(enumerate(STATES)))
    assert list(met) == [(plans[n].state, plans[n].commands) for n in range(len(STATES))]


class Goals:
    """Names a new goal at each question, and notes which goal's round ended how."""

    def __init__(self):
        self.named, self.ended = 0, []

    def goals(self, worlds, states):
        self.named += 1
        return [f"goal {self.named}"] * len(worlds)

    def after_round(self, world, goal, is_reached):
        self.ended.append((goal, is_reached))

    def begin_episode(self, world):
        pass


class Revised:
    """Tries a plan again with these sub-goals; none leaves them as they are."""

    planners = ()

    def __init__(self, subgoals=None):
        self.subgoals = subgoals

    def revise(self, failures):
        return [dataclasses.replace(one.plan, subgoals=self.subgoals or one.plan.subgoals) for one in failures]


@pytest.mark.parametrize(("subgoals", "goal"), [(None, "goal 1"), (("a", "b"), "goal 2")])
def test_a_round_is_of_the_goal_that_its_sub_goals_were_made_for(subgoals, goal):
    goals = Goals()
    one = loop(goals=goals, retry=Revised(subgoals))
    one.begin({5: STATES[0]})
    one.end_rounds({5: RoundEnd(STATES[1], (True, False))})
    one.end_rounds({5: RoundEnd(STATES[1], (True, True))})
    assert goals.ended == [("goal 1", False), (goal, True)]


def test_deps_keeps_a_new_list_when_the_round_before_it_is_only_handed_out_anew():
    deps = DepsGoals(caller(), DOMAIN)
    (old,) = deps.goals([5], [STATES[0]])
    deps.after_round(5, old, is_reached=False)
    (new,) = deps.goals([5], [STATES[0]])
    deps.after_round(5, "another goal", is_reached=True)
    assert deps.goals([5], [STATES[1]]) == [new]
