"""An endpoint that is late, malformed and hostile: a run of the planner ends with results, and replays offline."""

import pytest

from rl_models.chat.chat_settings import ChatSettings, open_transport
from rl_models.chat.client import ChatClient
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.meter import Budget
from rl_models.chat.record import Replay
from rl_models.planners.briefing import Briefing
from rl_models.planners.calling import Caller
from rl_models.planners.manual import write_manual
from rl_models.planners.planner import Planner
from rl_models.planners.preparation import deduplicate_subgoals, extract_objects, generate_states
from rl_models.planners.rewards import RewardDesigner
from rl_models.planners.rounds import PlanningLoop
from rl_models.planners.sandbox import process
from rl_models.planners.transcript import Transcript
from tests.rl_models.chat.loopback import Loopback
from tests.tune_experiments.sama.hostile import Script
from tests.tune_experiments.sama.kitchens import play, roll
from tune_experiments.sama.overcooked.domain import get_domain

pytestmark = [pytest.mark.processes, pytest.mark.slow]  # test_minirts_endpoint has the quick one

LAYOUT = "cramped_room"


def run(transport, transcript):
    """The whole pipeline on a small scale; returns everything that came out of it."""
    domain = get_domain(LAYOUT)
    caller = Caller(ChatClient(transport, 1, max_attempts=2), "m", Transcript(transcript))
    paragraphs = ["The chef carries an onion to the pot. The soup goes to the hatch with a dish."]
    manual = write_manual(caller, "Overcooked", paragraphs, domain)
    objects = extract_objects(caller, domain, manual)
    planner = Planner(caller, domain, Briefing(manual, objects))
    states = generate_states(caller, domain, manual, domain.diverse_states(2, seed=0), count=6)
    plans = planner.plan(states)
    subgoals = deduplicate_subgoals(caller, domain, [text for plan in plans for text in plan.commands])
    _, _, transitions = roll(LAYOUT)
    designer = RewardDesigner(caller, domain, domain.tests, transitions, manual)
    designed = designer.design(domain.subgoals)
    loop = PlanningLoop(planner, max_reflections=1)
    found = play(LAYOUT, loop, 150, designed)
    return (manual, objects, plans, subgoals, designed, found["standing_soups"], loop.counts), caller


def test_a_hostile_endpoint_is_survived_and_the_run_replays_offline(tmp_path, monkeypatch):
    started = []
    sandboxed = process.SandboxedReward.__init__
    monkeypatch.setattr(
        process.SandboxedReward,
        "__init__",
        lambda self, source, *a: (sandboxed(self, source, *a), started.append(source))[0],
    )
    chat = ChatSettings(
        endpoint=EndpointSettings(max_attempts=2),
        budget=Budget(calls_per_minute=1e9),
    )
    with Loopback(Script()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-secret-key")
        result, caller = run(open_transport(chat, tmp_path), tmp_path / "planner.md")
    *_, designed, soups, rounds = result
    assert soups >= 1
    assert rounds.rounds > 3
    assert all(one.source == "builtin" and len(one.rejections) == 2 for one in designed)
    assert not any("open(" in source or "while" in source or "__" in source for source in started)
    assert caller.counts["rejected"] > 0
    assert caller.counts["failed"] > 0
    assert caller.counts["fallback"] > 0
    assert caller.counts["asked"] == caller.counts["answered"] + caller.counts["fallback"]
    text = (tmp_path / "planner.md").read_text()
    assert "the code is refused: While is not allowed" in text
    assert "a-secret-key" not in text + (tmp_path / "chat.jsonl").read_text()

    monkeypatch.delenv("OPENAI_API_KEY")
    again, again_caller = run(Replay(tmp_path / "chat.jsonl"), tmp_path / "again.md")
    assert again == result
    assert again_caller.counts == caller.counts
