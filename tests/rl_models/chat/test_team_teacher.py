"""Every situation gets messages: the model's if they are valid, else the scripted ones."""

from types import SimpleNamespace

import pytest

from rl_envs.salad.symbols import AGENT_NAMES
from rl_envs.salad.teacher import all_messages
from rl_models.chat.client import ChatClient, RejectedReplyError
from rl_models.chat.endpoint import Endpoint, EndpointSettings
from rl_models.chat.exchange import ChatReply
from rl_models.chat.meter import Budget, Meter
from rl_models.chat.record import Recorded, Replay
from rl_models.chat.team_teacher import ChatPlayer, ChatTeacher, read_messages
from tests.rl_models.chat.loopback import Loopback, Step, say

AGENTS = ("Alice", "Bob")
GOOD = "Alice: take the tomato\nBob: I fetch a bowl"
ELEVEN = "Alice: one two three four five six seven eight nine ten eleven\nBob: hi"
HOSTILE = "Alice: __import__('os').system('rm -rf /')\nBob: hi"
SCRIPTED = ("wait", "go")


ANSWERS = {
    "good": say(GOOD),
    "spaced": say(" Bob :  I fetch a bowl \n\nAlice: take the tomato\n"),
    "chatty": say(f"Sure!\n{GOOD}"),
    "eleven words": say(ELEVEN),
    "eleven for ever": say(ELEVEN),
    "hostile": say(HOSTILE),
    "wrong agents": say("Alice: hi\nEve: hi"),
    "twice": say("Alice: hi\nAlice: ho\nBob: hi"),
    "long": say(GOOD + " " * 20_000),
    "status 500": Step(status=500),
    "no JSON": Step(body=b"<html>"),
    "cut": say(GOOD, cut=True),
    "slow": Step(is_late=True),
}
"""Situation -> how it is answered; `eleven words` gets better when asked again."""
SITUATIONS = tuple(ANSWERS)
ANSWERED = ("good", "spaced", "eleven words")


def script(body, number):
    situation, asked_again = body["messages"][0]["content"], len(body["messages"]) > 1
    return say(GOOD) if asked_again and situation == "eleven words" else ANSWERS[situation]


def teach(transport):
    client = ChatClient(transport, concurrency=4)
    taught = ChatTeacher(client, "m", AGENTS).messages(SITUATIONS, [SCRIPTED] * len(SITUATIONS))
    return taught, client.counts


def test_a_hostile_server_is_survived_with_nothing_lost_and_replays_offline(tmp_path, monkeypatch):
    record = tmp_path / "chat.jsonl"
    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        settings = EndpointSettings(max_attempts=2)
        endpoint = Endpoint(settings, Meter(Budget(calls_per_minute=1e9)))
        taught, counts = teach(Recorded(record, endpoint))
    said = ("take the tomato", "I fetch a bowl")
    assert [one.value for one in taught] == [said if name in ANSWERED else SCRIPTED for name in SITUATIONS]
    assert all(one.rejections for one in taught if one.value == SCRIPTED)
    assert len(taught[3].rejections) == 1 and "Alice" in taught[3].rejections[0]
    assert (counts["asked"], counts["answered"], counts["fallback"]) == (13, 3, 10)
    assert counts["rejected"] == 1 + 6 * 3
    assert counts["failed"] == 4

    monkeypatch.delenv("OPENAI_API_KEY")
    replayed, replayed_counts = teach(Replay(record))
    assert replayed == taught
    ends = ("asked", "answered", "rejected", "failed", "fallback")
    assert [replayed_counts[name] for name in ends] == [counts[name] for name in ends]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Alice.*Bob"),
        ("Alice: a", "Alice.*Bob"),
        ("Alice: a\nBob: b\nAnd more.", "Alice.*Bob"),
        ("Alice:\nBob: b", "Alice"),
        ("Alice: a\nBob: b\0", "Bob"),
        ("Alice: a\nBob: <|endoftext|>", "Bob"),
        ("Alice: a\nBob: " + "b" * 121, "120"),
    ],
)
def test_a_reply_of_another_form_is_rejected_with_a_reason(text, words):
    with pytest.raises(RejectedReplyError, match=words):
        read_messages(text, AGENTS)


def test_ten_words_pass():
    ten = "one two three four five six seven eight nine ten"
    assert read_messages(f"Bob: b\nAlice: {ten}", AGENTS) == (ten, "b")


def test_messages_of_the_scripted_teacher_are_of_the_form_that_is_wanted():
    for message in all_messages():
        assert read_messages(f"Alice: {message}\nBob: {message}", AGENT_NAMES) == (message, message)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [('{"action": "Chop "}', 1), ('{"action": "jump"}', 0), ('{"action": 1}', 0)],
)
def test_a_player_may_only_do_what_its_mask_allows(reply, chosen):
    player = ChatPlayer(ChatClient(SimpleNamespace(complete=lambda request: ChatReply(reply))), "m", "You cook.")
    (answer,) = player.choose(["a board"], [["wait", "chop"]], [0])
    assert (answer.value, bool(answer.rejections)) == (chosen, chosen == 0)
