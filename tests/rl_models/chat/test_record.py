"""Every exchange is on disk: it is sent once, it can be replayed, and no kill loses it."""

import fcntl
import json
import resource
import subprocess
import sys
import threading
from unittest.mock import Mock

import pytest

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Message
from rl_models.chat.record import LastReplies, Recorded, RecordError, Replay
from tests.timeouts import TIMEOUT_SECONDS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "chat.jsonl"


def request(text, **changes):
    return ChatRequest(model="m", messages=(Message("user", text),), **changes)


def scripted(*outcomes):
    """A transport that gives these outcomes in order."""
    return Mock(**{"complete.side_effect": outcomes})


def test_equal_requests_are_asked_once_in_this_run_and_the_next(path):
    first = scripted(ChatReply("one", 5, 2), ChatReply("two"))
    recorded = Recorded(path, first)
    answers = [recorded.complete(request(text)) for text in ("a", "a", "b", "a")]
    assert [answer.text for answer in answers] == ["one", "one", "two", "one"]
    assert [asked.args[0].messages[-1].content for asked in first.complete.call_args_list] == ["a", "b"]
    assert Recorded(path, scripted()).complete(request("a")) == ChatReply("one", 5, 2)


def test_answers_of_another_server_are_replayed_and_not_reused(path):
    Recorded(path, scripted(ChatReply("one")), "first").complete(request("a"))
    with pytest.warns(UserWarning, match="1 of 1"):
        other = Recorded(path, scripted(ChatReply("two")), "second")
    assert other.complete(request("a")) == ChatReply("two")
    assert [Replay(path).complete(request("a")).text, LastReplies(path).complete(request("a")).text] == ["one", "two"]
    with pytest.warns(UserWarning, match="1 of 2"):
        assert Recorded(path, scripted(), "first").complete(request("a")) == ChatReply("one")


@pytest.mark.parametrize("change", [{"seed": 1}, {"temperature": 0.5}, {"max_tokens": 9}, {"is_json": True}])
def test_whatever_is_sent_names_the_request(change):
    assert request("a", **change).key != request("a").key


def test_stage_and_context_do_not_name_the_request():
    assert request("a", stage="x", context={"b": 1}).key == request("a").key


def test_a_failure_is_written_down_and_asked_again(path):
    live = Recorded(path, scripted(ChatFailure("no answer"), ChatReply("there")))
    outcomes = [live.complete(request("a")) for _ in range(3)]
    assert outcomes == [ChatFailure("no answer"), ChatReply("there"), ChatReply("there")]
    replay = Replay(path)
    assert [replay.complete(request("a")) for _ in range(3)] == outcomes


def test_half_a_line_at_the_end_is_cut_off(path):
    Recorded(path, scripted(ChatReply("one"))).complete(request("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "dead')
    assert Replay(path).complete(request("a")) == ChatReply("one")
    again = Recorded(path, scripted(ChatReply("two")))
    assert again.complete(request("b")) == ChatReply("two")
    assert path.read_bytes().startswith(whole)
    assert Replay(path).complete(request("b")) == ChatReply("two")


def test_half_a_line_that_another_still_writes_is_not_cut_off(path, monkeypatch):
    waits = threading.Event()
    Recorded(path, scripted(ChatReply("one"))).complete(request("a"))
    line = path.read_bytes().replace(request("a").key.encode(), request("b").key.encode())

    def told(*arguments, flock=fcntl.flock):
        waits.set()
        flock(*arguments)

    with path.open("ab", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(line[:9])
        monkeypatch.setattr(fcntl, "flock", told)
        thread = threading.Thread(target=Recorded, args=(path, scripted()))
        thread.start()
        assert waits.wait(TIMEOUT_SECONDS)
        other.write(line[9:])
    thread.join()
    assert Replay(path).complete(request("b")) == ChatReply("one")


def test_half_a_line_of_somebody_who_was_killed_is_cut_off_by_whoever_writes_next(path):
    ours = Recorded(path, scripted(ChatReply("one"), ChatReply("two")))
    ours.complete(request("a"))
    with path.open("ab") as theirs:
        theirs.write(b'{"key": "dead')
    ours.complete(request("b"))
    assert [Replay(path).complete(request(text)).text for text in "ab"] == ["one", "two"]


WRITER = """
import sys
from pathlib import Path
from rl_models.chat.exchange import ChatReply, ChatRequest, Message
from rl_models.chat.record import Recorded

class Long:
    def complete(self, request):
        return ChatReply("word " * 40_000)

for number in range(20):
    record = Recorded(Path(sys.argv[1]), Long())
    record.complete(ChatRequest(model=sys.argv[2], messages=(Message("user", str(number)),)))
"""


@pytest.mark.processes
def test_processes_that_open_and_write_one_record_side_by_side_lose_no_line(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((line["request"]["model"], line["request"]["messages"][0]["content"]) for line in lines) == sorted(
        (name, str(number)) for name in ("one", "two") for number in range(20)
    )


def test_a_full_disk_leaves_no_half_a_line(path):
    record = Recorded(path, scripted(ChatReply("one"), ChatReply("two"), ChatReply("two")))
    record.complete(request("a"))
    whole = path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 5, before[1]))  # the file takes a few bytes and no more
    try:
        with pytest.raises(OSError):
            record.complete(request("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line", ["no JSON", "[1]", '{"key": 3}', '{"key": "k"}', '{"key": "k", "reply": {"text": 4}}', "[" * 100_000]
)
def test_a_damaged_line_is_named(path, line):
    path.write_text(json.dumps({"key": "k", "failure": "x"}) + "\n" + line + "\n")
    with pytest.raises(RecordError, match="line 2"):
        Replay(path)


def test_a_record_that_is_missing_is_one_sentence(path):
    with pytest.raises(RecordError, match=r"chat\.jsonl"):
        Replay(path)


def test_a_long_text_stands_in_the_record_once(path):
    long = "word " * 200
    requests = [ChatRequest(model="m", messages=(Message("system", long), Message("user", t))) for t in "ab"]
    recorded = Recorded(path, scripted(ChatReply("one"), ChatReply("two")))
    for one in requests:
        recorded.complete(one)
    first, second = (json.loads(line)["request"]["messages"] for line in path.read_text().splitlines())
    assert (first[0]["content"], second[1]["content"]) == (long, "b")
    assert second[0]["content"].startswith("as before: ")
    assert [Replay(path).complete(one).text for one in requests] == ["one", "two"]


def test_the_record_holds_neither_key_nor_context(path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    Recorded(path, scripted(ChatReply("one"))).complete(request("a", stage="plan", context={"hidden": 1}))
    line = json.loads(path.read_text())
    assert set(line) == {"key", "stage", "request", "reply"}
    assert set(line["request"]) == {"model", "messages", "most_tokens", "temperature", "seed", "is_json"}
