"""One actor answers for all processes, with one cache and one budget."""

import pytest

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.client import ChatClient, Question
from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Message
from rl_models.chat.meter import Budget
from tests.rl_models.chat.loopback import Loopback, say


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
