"""A model's reward is used only after it agrees with play; whatever it writes, every sub-goal ends with a reward."""

import json

import numpy as np
import pytest

from rl_envs.overcooked.text import describe
from rl_models.chat.client import ChatClient
from rl_models.chat.exchange import ChatReply
from rl_models.planners import reward_book
from rl_models.planners.calling import Caller
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rewards import DesignedReward, RewardDesigner
from rl_models.planners.sandbox.process import SandboxedReward
from tests.rl_models.planners.processes import sandboxes
from tests.tune_experiments.sama.kitchens import roll


class Saying:
    """A transport that replies with these texts in turn."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    def complete(self, request):
        self.asked.append(request)
        return ChatReply(self.replies.pop(0))


def designer(layout, transport):
    _, domain, play = roll(layout)
    return RewardDesigner(Caller(ChatClient(transport, 1), "m"), domain, play), domain, play


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("layout", ["coordination_ring", "counter_circuit_o_1order"])
def test_the_offline_rewards_pass_their_trials(layout):
    _, domain, _ = roll(layout, worlds=1, steps=1)
    made, domain, *_ = designer(layout, OfflineBackend())
    designed = made.design(domain.subgoals)
    assert [one.subgoal for one in designed] == list(domain.subgoals)
    assert all(one.code and not one.rejections for one in designed)


SERVE, ONION = "bring a soup to the hatch", "bring an onion from the onion store to pot 0"


def say(**reply):
    return json.dumps(reply)


FUNCTION = "def reward(previous, current):\n    "


@pytest.mark.processes
def test_a_sub_goal_whose_code_is_refused_keeps_the_built_in_reward():
    made, *_ = designer("cramped_room", Saying(*[say(code=FUNCTION + "return 1")] * 3))
    (designed,) = made.design([SERVE])
    assert designed.code == ""
    assert all("returns 1 for every pair" in why for why in designed.rejections)


@pytest.mark.processes
def test_code_and_built_in_tests_give_the_same_rewards():
    kitchen, domain, _ = roll("forced_coordination", worlds=1, steps=1)

    def describe_rows(state):
        return [describe(kitchen, state, b) for b in range(len(state["held"]))]

    made, domain, play = designer("forced_coordination", OfflineBackend())
    rows = slice(0, 400)
    previous, current = ({name: value[rows] for name, value in one.items()} for one in (play.previous, play.current))
    subgoals = np.random.default_rng(0).integers(-1, len(domain.subgoals), (400, 2))
    found = []
    for designed in ([], made.design(domain.subgoals)):
        with RewardBook(domain, designed, describe_rows) as book:
            found.append(book.reached(subgoals, previous, current))
            assert book.failures == {}
    assert found[0].any()
    assert not found[0][subgoals < 0].any()
    assert (found[0] == found[1]).all()


@pytest.mark.processes
def test_code_that_fails_in_play_is_replaced_for_good_and_said_to_be(caplog):
    _, domain, play = roll("cramped_room")
    failing = FUNCTION + "return 1 // (current['served'] - previous['served'])"
    designed = [DesignedReward(SERVE, failing)]
    with RewardBook(domain, designed, lambda state: [text for text, _ in play.texts]) as book:
        truth = domain.tests[SERVE](play.previous, play.current)
        subgoals = np.full(truth.shape, domain.subgoals.index(SERVE))
        for _ in range(2):
            assert (book.reached(subgoals, play.previous, play.current) == truth).all()
        assert book.failures == {SERVE: "it raised ZeroDivisionError"}
    assert [record.getMessage() for record in caplog.records] == [
        f"the reward in Python for {SERVE!r} is given up for the built-in one: it raised ZeroDivisionError"
    ]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("code", "reason"),
    [("import os\n", "one function"), (FUNCTION + "return sum(1 for one in range(10) if one) // 0", "ZeroDivision")],
)
def test_code_that_cannot_be_started_or_fails_is_counted_as_fallen_back(code, reason):
    _, domain, play = roll("cramped_room")
    designed = [DesignedReward(SERVE, code), DesignedReward(ONION)]
    with RewardBook(domain, designed, lambda state: [text for text, _ in play.texts]) as book:
        book.reached(np.full((len(play.texts), 2), domain.subgoals.index(SERVE)), play.previous, play.current)
        assert book.has_fallen_back.tolist() == [text in (SERVE, ONION) for text in domain.subgoals]
        assert reason in book.failures[SERVE]


@pytest.mark.processes
def test_a_book_that_cannot_be_opened_leaves_no_process(monkeypatch):
    _, domain, _ = roll("cramped_room", worlds=1, steps=1)

    def second_fails(source):
        if sandboxes():
            raise OSError("no more processes")
        return SandboxedReward(source)

    monkeypatch.setattr(reward_book, "SandboxedReward", second_fails)
    designed = [DesignedReward(text, domain.code(text)) for text in (SERVE, ONION)]
    with pytest.raises(OSError, match="no more processes"):
        RewardBook(domain, designed, list)
    assert sandboxes() == set()
