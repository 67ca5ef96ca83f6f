"""The chat client asks many questions at the same time, and an interrupt ends them."""

import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from rl_models.chat.client import ChatClient, Question
from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Message
from rl_models.chat.meter import Budget, Meter, OverBudgetError
from rl_models.chat.record import Recorded
from tests.timeouts import TIMEOUT_SECONDS

SILENT = """
import os
import signal
import threading
from rl_models.chat.client import ChatClient, Question
from rl_models.chat.exchange import ChatRequest, Message

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where tests run in the background


class Silent:
    def complete(self, request):
        os.write(1, b"asked\\n")
        threading.Event().wait()

questions = [Question(ChatRequest(model="m", messages=(Message("user", name),)), str, str) for name in "abcdefgh"]
ChatClient(Silent(), concurrency=2).ask(questions)
"""


def question(text):
    return Question(ChatRequest(model="m", messages=(Message("user", text),)), str, str)


@pytest.mark.processes
def test_an_interrupted_run_does_not_wait_for_answers_that_never_come():
    with subprocess.Popen([sys.executable, "-c", SILENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert [process.stdout.readline() for _ in range(2)] == [b"asked\n"] * 2
            process.send_signal(signal.SIGINT)
            rest, error = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in error
    assert rest == b""


def test_a_failure_of_our_own_is_raised_and_the_rest_is_not_asked():
    asked, is_over = [], threading.Event()

    class Full:
        def complete(self, request):
            asked.append(request)
            if len(asked) == 1:
                raise OSError("the disk is full")
            is_over.wait(TIMEOUT_SECONDS)
            return ChatReply("fine")

    with pytest.raises(OSError, match="disk is full"):
        ChatClient(Full(), concurrency=2).ask([question("a")] * 1000)
    assert len(asked) <= 3, "both threads hold one question at most"
    is_over.set()


def test_answers_come_in_the_order_of_questions():
    echo = SimpleNamespace(complete=lambda request: ChatReply(request.messages[0].content))
    texts = [f"{number}" for number in range(50)]
    answers = ChatClient(echo, concurrency=7).ask([question(text) for text in texts])
    assert [answer.value for answer in answers] == texts


def test_questions_that_the_budget_leaves_unasked_are_no_calls():
    meter = Meter(Budget(max_calls=1))

    class Metered:
        def complete(self, request):
            try:
                meter.admit()
            except OverBudgetError as error:
                return ChatFailure(str(error))
            return ChatFailure("the server is busy")

    client = ChatClient(Metered(), concurrency=1)
    client.ask([question("a")] * 3)
    assert (client.counts["failed"], client.counts["unsent"], client.counts["fallback"]) == (1, 2, 3)


def test_answers_of_a_record_are_counted_apart_from_those_that_were_sent(tmp_path):
    echo = SimpleNamespace(complete=lambda request: ChatReply("yes", 100, 10))
    client = ChatClient(Recorded(tmp_path / "chat.jsonl", echo), concurrency=1)
    client.ask([question(text) for text in "aba"])
    assert client.counts == {"asked": 3, "answered": 3, "recorded": 1, "prompt_tokens": 200, "completion_tokens": 20}
