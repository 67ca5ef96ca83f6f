"""A planner that scores sub-goals: which ones, in what order, and that it asks as other planners do."""

import pytest

from rl_models.chat.client import ChatClient
from rl_models.chat.record import Replay
from rl_models.planners.calling import Caller
from rl_models.planners.commander import RandomCommander
from rl_models.planners.plans import Memory, Round
from rl_models.planners.scored import Scored, ScoredBackend, ScoredPlanner
from tests.rl_models.planners.callers import caller
from tests.rl_models.planners.office import PostOffice, write

DOMAIN = PostOffice()
STATE = write(0, 0, 0, "not weighed", 2, 3)


class LongestFirst:
    """A scorer that prefers long phrases, and notes what it is asked."""

    def __init__(self):
        self.batches = []

    def __call__(self, questions):
        self.batches.append(list(questions))
        return [Scored(tuple(float(len(text)) for text in phrases), 100) for _, phrases in questions]


def planner(scorer):
    backend = ScoredBackend(scorer)
    return ScoredPlanner(Caller(ChatClient(backend, 1), "m", prepare=backend.prepare), DOMAIN)


def test_each_agent_gets_the_best_of_what_it_can_begin_and_hears_what_those_before_were_told():
    scorer = LongestFirst()
    (plan,) = planner(scorer).plan([STATE])
    first, second = (batch[0] for batch in (scorer.batches[0], scorer.batches[2]))
    for agent, (messages, phrases) in enumerate((first, second)):
        assert phrases == DOMAIN.possible_subgoals(STATE, agent, ())
        assert plan.commands[agent] == max(phrases, key=len)
        assert messages[-1].content == f"Clerk {agent} should"
        assert DOMAIN.manual in messages[0].content
    assert f"Clerk 0 should {plan.commands[0]}." in second[0][1].content
    assert f"Clerk 0 should {plan.commands[0]}." not in first[0][1].content


def test_all_worlds_are_scored_together():
    scorer, states = LongestFirst(), DOMAIN.diverse_states(5, seed=1)
    found = planner(scorer)
    found.plan(states)
    assert [len(batch) for batch in scorer.batches if len(batch) > 1] == [5, 5]
    assert found.caller.counts == {"asked": 10, "answered": 10, "prompt_tokens": 1000}


def test_what_an_agent_can_only_begin_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(PostOffice, "possible_subgoals", lambda self, state, agent, given: self.subgoals[: 1 + agent])
    found = planner(LongestFirst())
    (plan,) = found.plan([STATE])
    assert plan.commands[0] == DOMAIN.subgoals[0] and found.caller.counts["asked"] == 1


def test_a_plan_that_failed_is_told_and_not_made_again():
    scorer, memory = LongestFirst(), Memory()
    found = planner(scorer)
    plans = found.plan([STATE])
    for _ in range(2):
        plans += found.revise([Round(plans[-1], memory, (True, False))])
    assert len({plan.commands for plan in plans}) == 3
    assert plans[0].commands[1] in scorer.batches[-1][0][0][1].content


def test_rules_answer_what_a_record_does_not_hold_and_are_counted(tmp_path):
    (tmp_path / "planner.jsonl").touch()
    replayed = ScoredPlanner(caller(Replay(tmp_path / "planner.jsonl")), DOMAIN)
    (plan,) = replayed.plan([STATE])
    found = DOMAIN.decompose(STATE, None, ())
    order = DOMAIN.allocate(STATE, found.subgoals, ()).order
    assert plan.commands == tuple(found.subgoals[place] for place in order)
    assert replayed.caller.counts["fallback"] == 2


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_random_commands_can_be_drawn_from_what_is_possible(share):
    states = DOMAIN.diverse_states(60, seed=3)
    plans = planner(LongestFirst()).plan(states)
    commanded = RandomCommander(DOMAIN, share, 1, "possible").command(range(60), [0] * 60, plans)
    assert sum(one.commands != other.commands for one, other in zip(plans, commanded, strict=True)) > 20
    for plan in commanded:
        assert all(text in DOMAIN.possible_subgoals(plan.state, n, ()) for n, text in enumerate(plan.commands))
