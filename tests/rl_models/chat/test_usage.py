"""Usage of a chat model is read from its record, whoever asks and however often it is killed; one actor asks."""

import pytest

from rl_models.chat.chat_settings import ChatSettings, open_meter, open_transport
from rl_models.chat.client import ChatClient, Question
from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Message
from rl_models.chat.meter import Budget, Prices, Usage
from rl_models.chat.record import Recorded
from rl_models.chat.usage import read_usage
from tests.rl_models.chat.loopback import Loopback, say


class Answers:
    def complete(self, request):
        text = request.messages[0].content
        return ChatFailure("it failed") if text == "bad" else ChatReply(text, 100, 10)


def ask(path, *texts):
    transport = Recorded(path, Answers())
    for text in texts:
        transport.complete(ChatRequest(model="m", messages=(Message("user", text),)))


def test_a_record_tells_requests_failures_and_tokens_of_all_processes_that_wrote_it(tmp_path):
    record = tmp_path / "chat.jsonl"
    ask(record, "a", "b", "a", "bad")  # what is known already is not asked, and costs nothing
    ask(record, "a", "c")
    assert read_usage(record) == Usage(requests=4, failures=1, prompt_tokens=300, completion_tokens=30)


def test_the_budget_of_a_continued_run_counts_what_earlier_sessions_spent(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    ask(tmp_path / "chat.jsonl", "a", "b", "bad")
    spent = Usage(requests=3, failures=1, prompt_tokens=200, completion_tokens=20)
    assert open_meter(ChatSettings(), tmp_path).usage == spent
    request = ChatRequest(model="m", messages=(Message("user", "new"),))
    for budget, reason in ((Budget(max_calls=3), "3 calls"), (Budget(max_tokens=220), "220 tokens")):
        outcome = open_transport(ChatSettings(budget=budget), tmp_path).complete(request)
        assert isinstance(outcome, ChatFailure) and reason in outcome.reason
    assert open_meter(ChatSettings(), tmp_path).usage == spent, "what is not sent costs nothing"
    assert open_meter(ChatSettings(), tmp_path / "new").usage == Usage()


def test_the_cost_is_told_where_prices_are_known():
    usage = Usage(requests=3, failures=0, prompt_tokens=2_000_000, completion_tokens=500_000)
    assert "chat_cost" not in usage.numbers(Prices())
    told = usage.numbers(Prices(prompt=0.15, completion=0.6))
    assert told["chat_cost"] == pytest.approx(0.3 + 0.3)
    assert (told["chat_requests"], told["chat_prompt_tokens"]) == (3.0, 2e6)


def question(text):
    request = ChatRequest(model="m", messages=(Message("user", text),))
    return Question(request, check=str, fallback=lambda: "nothing")


@pytest.mark.slow
def test_the_actor_holds_cache_and_budget(ray_session, tmp_path, monkeypatch):
    from rl_models.rllib.chat_service import start_chat_service

    with Loopback(lambda body, number: say(body["messages"][0]["content"].upper())) as server:
        environment = {"env_vars": {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}}
        settings = ChatSettings(budget=Budget(max_calls=2))
        service = start_chat_service(settings, tmp_path, runtime_env=environment)
        texts = ["a", "b", "a", "b", "c"]
        answers = ChatClient(service, concurrency=1).ask([question(text) for text in texts])
        usage = service.usage()
        service.stop()
        continued = start_chat_service(settings, tmp_path, runtime_env=environment)
        assert isinstance(continued.complete(question("c").request), ChatFailure)
        assert continued.usage() == usage, "of the whole run"
        other_run = start_chat_service(settings, tmp_path, runtime_env=environment, shares_record=True)
        assert other_run.usage().requests == 0
    assert [answer.value for answer in answers] == ["A", "B", "A", "B", "nothing"]
    assert len(answers[-1].rejections) == 1
    assert (usage.requests, usage.prompt_tokens, len(server.requests)) == (2, 14, 2)

    replay = start_chat_service(ChatSettings(backend="replay"), tmp_path)
    assert replay.complete(question("b").request) == ChatReply("B", 7, 3)
