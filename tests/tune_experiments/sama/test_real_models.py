"""A planner with SmolLM2: its scores, and its words by an OpenAI-compatible server that nobody here wrote."""

import dataclasses
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.exchange import ChatReply
from rl_models.chat.meter import Budget
from rl_models.chat.record import read_record
from rl_models.hub.catalog import CATALOG
from tune_experiments.sama.frozen_lake.trials import planned, walker
from tune_experiments.sama.overcooked.domain import KitchenDomain
from tune_experiments.sama.planned_experiment import TRANSCRIPT
from tune_experiments.sama.planner_config import ModelSettings
from tune_experiments.sama.planning import RECORD, make_planning_loop
from tune_experiments.sama_frozen_lake import SMOKE as LAKE
from tune_experiments.sama_overcooked import SMOKE as KITCHEN

MODEL = "smollm2-135m-instruct"


@pytest.mark.slow
def test_smollm2_lets_a_chef_with_a_soup_serve_it(real_model):
    config = dataclasses.replace(KITCHEN, planner="scored", model=ModelSettings(name=real_model(MODEL)))
    states = [state for state in KitchenDomain("cramped_room").diverse_states(40, 3) if "Chef 0" in state]
    states = [state for state in states if "holds a soup" in state.splitlines()[-2]][:3]
    plans = make_planning_loop(config, "cramped_room", 0).begin(dict(enumerate(states)))
    assert [plan.commands[0] for plan in plans.values()] == ["bring a soup to the hatch"] * 3


@pytest.fixture
def server(real_model, monkeypatch):
    """Folder of SmolLM2, which `transformers serve` serves at the address that the planner's client reads."""
    pytest.importorskip("fastapi", reason="transformers serve needs the extra `serve`")
    folder = str(CATALOG[real_model(MODEL)].folder)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    host, _, port = address.partition(":")
    words = ["serve", folder, "--host", host, "--port", port, "--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen(
        [sys.executable, "-m", "transformers.cli.transformers", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://{address}/health", process)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://{address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "any word")
        yield folder
    finally:
        process.terminate()
        process.wait(30)


def _wait(url, process, seconds=240):
    for _ in range(seconds):
        assert process.poll() is None, "the server has ended"
        try:
            urllib.request.urlopen(url, timeout=5)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    pytest.fail("the server does not answer")


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.timeout(1200)
def test_a_planner_plays_the_lake_by_what_a_real_server_writes(server, tmp_path):
    patient = EndpointSettings(timeout_seconds=600, deadline_seconds=600)
    chat = ChatSettings(endpoint=patient, budget=Budget(max_calls=3))
    model = ModelSettings(name=server, folder=str(tmp_path), concurrency=1, chat=chat)
    config = dataclasses.replace(
        LAKE, planner="openai", model=model, shots=0, extracts_objects=False, reflections=0
    )  # short prompts: the first question is about sub-goals
    found = planned(config, "openai privileged", walker)
    outcomes = [outcome for _, outcome, _ in read_record(tmp_path / RECORD, ignores_incomplete_line=False)]
    replies = [one for one in outcomes if isinstance(one, ChatReply)]
    assert len(replies) == 3 and found["answered_by_rule"] > 0  # past the budget rules answer
    assert found["tokens"] == sum(one.prompt_tokens + one.completion_tokens for one in replies)
    assert min(one.prompt_tokens for one in replies) > 50 and min(one.completion_tokens for one in replies) > 0
    reasons = str(found[TRANSCRIPT]).count("Not used, because:")
    assert reasons == found["refused"] + len(outcomes) - len(replies)
