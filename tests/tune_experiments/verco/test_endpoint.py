"""An endpoint that is slow, refuses, fails and talks nonsense: a run loses nothing, and repeats without it."""

import dataclasses

import pytest
import torch

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.meter import Prices
from rl_models.chat.usage import read_usage
from tests.rl_models.chat.loopback import Loopback, Step, say
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.loading import load_policy
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial
from tune_experiments.verco import prompted
from tune_experiments.verco.replay import replay
from tune_experiments.verco.trials import plan
from tune_experiments.verco_salad import EXPERIMENT, SMOKE

GOOD = "Alice: Please chop, I bring things.\nBob: Please wait."
ELEVEN = "Alice: one two three four five six seven eight nine ten eleven\nBob: hi"
BAD = (
    lambda: Step(is_late=True),
    lambda: Step(status=429, headers={"Retry-After": "0"}),
    lambda: Step(status=500),
    lambda: Step(body=b"<html>no</html>"),
    lambda: say('{"action": '),
    lambda: say(ELEVEN),
    lambda: say(GOOD, cut=True),
)
MAX_LATE = 2


class Script:
    """Each third answer is good, the others are bad in turn; only a few are late, for the test's sake."""

    def __init__(self, good):
        self.good, self.bad = good, 0

    def __call__(self, body, number):
        if number % 3 == 2:
            return say(self.good)
        self.bad += 1
        late = self.bad % len(BAD) == 0
        return say("late") if late and self.bad > MAX_LATE * len(BAD) else BAD[self.bad % len(BAD)]()


@pytest.fixture
def endpoint(monkeypatch):
    """Point the environment at a server with a script, within `with`; afterwards there is no key."""

    def start(good):
        server = Loopback(Script(good))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        return server

    yield start
    prompted.client.cache_clear()


def settings(**changes):
    bounds = EndpointSettings(max_attempts=2)
    chat = ChatSettings(model="m", endpoint=bounds, prices=Prices(prompt=1.0, completion=2.0))
    return dataclasses.replace(SMOKE, chat=chat, test_episodes=2, valid_episodes=2, **changes)


def warm_start(config, folder):
    """One round of the warm start by an endpoint in a trial of that run folder: what was told, and the weights."""
    folder = folder / "trials" / trial_name("verco", 0)
    folder.mkdir(parents=True, exist_ok=True)
    stage = plan(config, "verco", 0, folder).stages[0].plan
    algorithm = stage.make_algorithm(stage)
    told = algorithm.train()
    prompted.client.cache_clear()
    return told, algorithm.policy().state_dict()


def test_the_warm_start_loses_nothing_and_repeats_from_the_record_in_its_folder(endpoint, tmp_path, monkeypatch):
    config = settings(teacher="endpoint")
    with endpoint(GOOD) as server:
        told, weights = warm_start(config, tmp_path / "first")
        assert len(server.requests) > told["teacher/chat_requests"] > 0  # what was sent again counts once
    assert told["teacher/asked"] == told["teacher/answered"] + told["teacher/fallback"] > 0
    assert min(told["teacher/answered"], told["teacher/rejected"], told["teacher/failed"]) > 0
    scripted, _ = warm_start(settings(), tmp_path / "scripted")
    assert told["distillation/pairs"] == scripted["distillation/pairs"]
    monkeypatch.delenv("OPENAI_API_KEY")
    again, same = warm_start(dataclasses.replace(config, replay=str(tmp_path / "first")), tmp_path / "second")
    sent = {"teacher/prompt_tokens", "teacher/completion_tokens", "teacher/recorded"}
    assert {name: again[name] for name in again if name not in sent} == {
        name: told[name] for name in told if name not in sent
    }
    for name, value in weights.items():
        assert torch.equal(value, same[name]), name


def results(config, folder):
    """Test results of the whole trial of a prompted model in that run folder."""
    folder = folder / "trials" / trial_name("api", 0)
    Trial(EXPERIMENT, config, "api", 0, folder).run(lambda row: None)
    prompted.client.cache_clear()
    return read_test_results(folder)


@pytest.mark.long
def test_the_row_api_ends_with_numbers_and_what_they_cost_and_repeats_offline(endpoint, tmp_path, monkeypatch):
    config = settings(methods=("api",))
    with endpoint('{"action": "fetch the tomato"}'):
        found = results(config, tmp_path / "first")
    usage = read_usage(tmp_path / "first" / "trials" / trial_name("api", 0) / config.chat.record)
    assert min(usage.requests, usage.failures, usage.prompt_tokens) > 0
    spent = {line.metric: line.value for line in found if line.metric.startswith("chat_")}
    refused = {name: spent.pop(name) for name in ("chat_asked", "chat_rejected", "chat_fallback")}
    assert refused["chat_asked"] >= refused["chat_fallback"] > 0 < refused["chat_rejected"]
    assert spent == usage.numbers(config.chat.prices) and spent["chat_cost"] > 0
    table = EXPERIMENT.tables(found)[-1]
    assert table.title.endswith("chat models") and [label for label, _ in table.rows] == ["api"]
    monkeypatch.delenv("OPENAI_API_KEY")
    assert results(dataclasses.replace(config, replay=str(tmp_path / "first")), tmp_path / "second") == found
    assert not list((tmp_path / "second").rglob(config.chat.record))


@pytest.mark.long
def test_opening_a_prompted_team_asks_no_model_and_its_record_answers(endpoint, tmp_path, monkeypatch):
    def filmed():
        episode = replay(load_policy(tmp_path / "trials" / trial_name("api", 0)))
        prompted.client.cache_clear()
        return episode.metrics, [moment.chosen for moment in episode.moments]

    with endpoint('{"action": "fetch the tomato"}') as server:
        results(settings(methods=("api",)), tmp_path)
        asked = len(server.requests)
        first = filmed()
        assert len(server.requests) == asked > 0
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.warns(UserWarning, match=r"chat\.jsonl"):
        assert filmed() == first
