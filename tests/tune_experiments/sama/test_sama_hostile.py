"""SAMA's script with an endpoint: one that is late and hostile is survived, and processes of a run share one budget."""

import dataclasses
import functools
from pathlib import Path

import pytest

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.exchange import ChatRequest, Message
from rl_models.chat.meter import Budget
from tests.rl_models.chat.loopback import Loopback, say
from tests.tune_experiments.sama.hostile import Script
from tests.tune_experiments.sama.kitchens import PAPER
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import read
from tune_experiments.sama.planner_config import ModelSettings
from tune_experiments.sama.planning import own_endpoint, shared_endpoint
from tune_experiments.sama_overcooked import SMOKE

FLAGS = """
    --preset smoke --planner openai --methods code --translates-states --states 4 --budget-env-steps 320
    --max-episode-steps 40 --test-episodes 1 --model.name m --model.chat.endpoint.timeout-seconds 2
    --model.chat.endpoint.max-attempts 1 --model.chat.budget.calls-per-minute 1e9
"""


@pytest.mark.slow
def test_a_whole_run_against_a_hostile_endpoint_ends_with_results(ray_session, tmp_path, monkeypatch):
    """The key is in the leading process and in the actor; trials do without. The actor goes by its own clock."""
    from rl_models.rllib import chat_service

    start = chat_service.start_chat_service
    (tmp_path / "paper.tex").write_text(PAPER)
    words = [*FLAGS.split(), "--manual", str(tmp_path / "paper.tex"), "--model.folder", str(tmp_path / "asked")]
    with Loopback(Script(most_late=1)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-secret-key"}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        here = functools.partial(start, runtime_env={"env_vars": environment})
        monkeypatch.setattr(chat_service, "start_chat_service", here)
        words += ["--out", str(tmp_path / "run")]
        assert main(find_experiment("sama_overcooked"), words) == 0
    results = read(tmp_path / "run/results.jsonl")
    assert {one.method for one in results if one.metric == "soups"} == {"code-cramped_room"}
    text = "".join(path.read_text() for path in (tmp_path / "asked/cramped_room").glob("*.md"))
    for reason in ("While", "in time", "500", "JSON"):
        assert reason in text
    files = [path for folder in ("run", "asked") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert not any(b"a-secret-key" in path.read_bytes() for path in files)
    assert not Path("/tmp/written-by-a-model").exists()


def test_the_record_of_earlier_runs_does_not_use_up_the_budget(tmp_path, monkeypatch):
    chat = ChatSettings(endpoint=EndpointSettings(max_attempts=1), budget=Budget(max_calls=1, calls_per_minute=1e9))
    model = ModelSettings(name="m", folder=str(tmp_path), concurrency=1, chat=chat)
    with Loopback(lambda body, number: say("yes")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-secret-key")
        for text in ("one run", "another run"):
            own_endpoint.cache_clear()  # as in a process of its own
            request = ChatRequest(model="m", messages=(Message("user", text),))
            assert own_endpoint(model).complete(request).text == "yes"


def test_a_process_without_a_key_is_one_sentence(ray_session, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = dataclasses.replace(SMOKE, planner="openai", model=ModelSettings(folder=str(tmp_path)))
    with pytest.raises(UserError, match="endpoint"), shared_endpoint(config):
        pass
    with shared_endpoint(SMOKE):
        pass
