"""Verco's rows that ask a chat model: what it names is played, and nonsense waits."""

import dataclasses
import json
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from rl_envs.salad.text import Narrator
from rl_models.chat.client import ChatClient
from rl_models.chat.exchange import ChatReply
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.results.trial_log import METRICS_FILE
from tune_experiments.verco import prompted
from tune_experiments.verco.config import make_world
from tune_experiments.verco.evaluation import play_team, writes
from tune_experiments.verco.trials import plan

EXPERIMENT = find_experiment("verco_salad")
SMOKE = EXPERIMENT.presets["smoke"]


@pytest.fixture
def answering(monkeypatch):
    def answer(text):
        model = Mock(**{"complete.return_value": ChatReply(text, 1, 1)})
        monkeypatch.setattr(prompted, "client", lambda settings, concurrency: ChatClient(model, concurrency=1))
        return model

    return answer


def test_a_prompted_model_plays_what_it_names_and_is_not_asked_twice(answering):
    model = answering('{"action": "fetch the tomato"}')
    policy, world = prompted.prompted_team(SMOKE, 0, None), make_world(SMOKE, 2)
    seen = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
    played = policy(seen, {}, torch.ones(2, 1, dtype=torch.bool)).policy.mode()[0][:, 0]
    narrator = Narrator(world)
    for row, agent in np.ndindex(2, 2):
        code, action = seen["situation"][row, 0, agent].numpy(), int(played[row, agent])
        assert seen["legal"][row, 0, agent, action]
        named = narrator.actions(code).index("fetch the tomato")
        assert action == (named if seen["legal"][row, 0, agent, named] else 0)
    asked = model.complete.call_count
    policy(seen, {}, torch.ones(2, 1, dtype=torch.bool))
    assert model.complete.call_count == asked


def test_a_prompted_model_that_talks_nonsense_waits(answering):
    answering("I would rather dance.")
    episodes = play_team(make_world(SMOKE, 2), prompted.prompted_team(SMOKE, 0, None))
    assert (episodes["success"] == 0).all() and (episodes["length"] == SMOKE.max_episode_steps).all()


def test_a_team_that_an_endpoint_taught_is_opened_without_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert writes(plan(dataclasses.replace(SMOKE, teacher="endpoint"), "verco", 0).stages[-1].plan.build_policy())


def test_a_trial_that_is_continued_still_counts_what_its_teacher_was_refused(tmp_path):
    taught = {"env_steps": 1, "teacher/asked": 5.0, "teacher/fallback": 2.0}
    (tmp_path / METRICS_FILE).write_text("".join(json.dumps(row) + "\n" for row in (taught, {"env_steps": 2})))
    found = prompted.refusals(SMOKE.chat, 1, tmp_path)
    assert found == {"chat_asked": 5.0, "chat_rejected": 0.0, "chat_fallback": 2.0}
