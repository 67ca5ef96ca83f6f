"""An endpoint that is late, malformed and hostile plans for MiniRTS: games end with results, and replay offline."""

import dataclasses

import pytest

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.meter import Budget
from rl_models.planners.sandbox import process
from tests.rl_models.chat.loopback import Loopback, say
from tests.tune_experiments.sama.hostile import HOSTILE_CODE, Script
from tune_experiments.sama.minirts import play
from tune_experiments.sama.minirts.trials import build_team, planned
from tune_experiments.sama.planned_experiment import TRANSCRIPT
from tune_experiments.sama.planner_config import ModelSettings
from tune_experiments.sama.planning import MANUAL_FILE, make_planner
from tune_experiments.sama_minirts import SMOKE

pytestmark = pytest.mark.processes

TWO = "scripted_2"
PAPER = r"""
\begin{document}
Deep networks have been applied to a great many hard problems in the course of the last ten years.

In MiniRTS a peasant must mine a resource, and each peasant can build a barrack. A spearman beats cavalry \cite{x}.
The aim is to destroy the enemy's town hall with an army. Archers attack dragons.
\end{document}
"""
CHAT = ChatSettings(endpoint=EndpointSettings(max_attempts=2), budget=Budget(calls_per_minute=1e9))


class RtsScript(Script):
    """The same hostile script, which answers a third of the decompositions well; all of its code is refused unread."""

    codes = HOSTILE_CODE[:4]

    def __init__(self):
        super().__init__()
        self.stages = set()

    def __call__(self, body, number):
        system = body["messages"][0]["content"]
        self.stages.add(system.split("\n")[0][:40])
        if number % 3 == 1 and '"subgoals"' in system:
            return say('{"thoughts": "ok", "goal": "win", "subgoals": ["Build a peasant.", "Agent 2: keep scouting"]}')
        return super().__call__(body, number)


def settings(folder, **changes):
    (folder / "paper.tex").write_text(PAPER)
    (folder / "trial").mkdir(exist_ok=True)
    model = ModelSettings(name="m", concurrency=1, chat=CHAT)
    return dataclasses.replace(
        SMOKE,
        planner="openai",
        model=model,
        manual=str(folder / "paper.tex"),
        translates_states=True,
        max_episode_steps=14,
        test_episodes=1,
        **changes,
    )


def test_a_hostile_endpoint_is_survived_and_the_games_replay_offline(tmp_path, monkeypatch):
    for name, number in {"_WORLDS": 2, "_ROUNDS": 3, "_DECISIONS": 2}.items():
        monkeypatch.setattr(play, name, number)
    asked, trial = tmp_path / "asked", tmp_path / "trial"
    config = settings(tmp_path, record=str(asked), reward_source="code")
    team, script, started = build_team(config, TWO, 0), RtsScript(), []
    sandboxed = process.SandboxedReward.__init__
    monkeypatch.setattr(
        process.SandboxedReward, "__init__", lambda self, code, *a: started.append(code) or sandboxed(self, code, *a)
    )
    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-secret-key")
        first = planned(config, TWO, team, 42, trial_folder=trial)
    assert first["decisions"].tolist() == [14.0] and first["rounds"][0] >= 2
    assert script.code > 0 and started == []
    assert len(script.stages) >= 6 and 0 < first["answered_by_rule"][0] < 1
    text = str(first[TRANSCRIPT])
    for word in ("While", "JSON", "Build a peasant", "peasant must mine a resource"):
        assert word in text
    assert "Deep networks" not in (trial / MANUAL_FILE).read_text()
    files = [path for folder in (asked, trial) for path in folder.rglob("*") if path.is_file()]
    assert files and not any(b"a-secret-key" in path.read_bytes() for path in files)

    monkeypatch.delenv("OPENAI_API_KEY")
    (trial / MANUAL_FILE).unlink()
    again = planned(settings(tmp_path, replay=str(asked), reward_source="code"), TWO, team, 42, trial_folder=trial)
    assert again["calls"] == again["tokens"] == 0 < again["recorded"]
    for name in set(first) - {TRANSCRIPT, "calls", "tokens", "recorded"}:
        assert again[name].tolist() == first[name].tolist(), name


@pytest.mark.slow
@pytest.mark.processes
def test_tests_of_subgoals_that_a_model_writes_are_used_if_they_agree_with_ours():
    config = dataclasses.replace(SMOKE, planner="offline", reward_source="code")
    planner = make_planner(config, "2", 0)
    designed = play.design_rewards(planner)
    assert {one.subgoal for one in designed} == set(planner.domain.subgoals) - {"wait"}
    accepted = [one.subgoal for one in designed if one.code]
    assert {"attack", "mine with all idle peasant", "build stable", "build archer", "keep scouting"} <= set(accepted)
