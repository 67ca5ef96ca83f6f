"""Rounds in real kitchens: reflection mends what a weaker planner gets wrong, and a run repeats from its record."""

import pytest

from rl_models.planners.backends import PlannerSettings, open_caller
from rl_models.planners.goal_generators import DepsGoals, Plan4McGoals
from rl_models.planners.planner import Planner
from rl_models.planners.rewards import DesignedReward
from rl_models.planners.rounds import PlanningLoop
from tests.tune_experiments.sama.planned_play import play
from tune_experiments.sama.overcooked.domain import KitchenDomain


def cook(settings, folder, goals=None, layout="cramped_room", steps=399, replays=False, **arguments):
    """One episode; returns soups, counts and the transcript."""
    domain = KitchenDomain(layout)
    caller = open_caller(settings, domain, folder)
    generator = goals(caller, domain) if goals else None
    one = PlanningLoop(Planner(caller, domain), generator, **arguments)
    designed = [DesignedReward(text, "builtin") for text in domain.subgoals]
    soups, wasted = play(layout, one, domain, designed, steps, replays=replays)
    return soups, one.counts, wasted, caller


def test_reflection_mends_what_a_weaker_planner_gets_wrong(tmp_path):
    noisy = PlannerSettings(backend="noisy", noise="weaker")
    without, counts, wasted, _ = cook(noisy, tmp_path / "0", max_reflections=0)
    assert (counts.reflections, wasted) == (0, 0)
    with_it, counts, wasted, _ = cook(noisy, tmp_path / "3", max_reflections=3)
    assert counts.reflections > 0
    assert wasted > 0
    assert with_it > without


def test_recovery_by_replay_comes_to_the_same_state_as_by_snapshot(tmp_path):
    noisy = PlannerSettings(backend="noisy", noise="weak", seed=1)
    *by_snapshot, _ = cook(noisy, tmp_path / "snapshot", steps=200)
    *by_replay, _ = cook(noisy, tmp_path / "replay", steps=200, replays=True)
    assert by_snapshot == by_replay
    assert by_replay[1].reflections > 1


@pytest.mark.parametrize("goals", [DepsGoals, lambda caller, domain: Plan4McGoals(domain)], ids=["DEPS", "Plan4MC"])
def test_other_goal_generators_serve_soups_too(goals, tmp_path):
    soups, _, _, caller = cook(PlannerSettings(), tmp_path, goals)
    assert soups >= 2
    assert "fallback" not in caller.counts


@pytest.mark.long
def test_a_run_repeats_from_its_record_and_its_transcript_tells_it(tmp_path):
    noisy = PlannerSettings(backend="noisy", noise="weaker", seed=3)
    soups, counts, _, caller = cook(noisy, tmp_path)
    model = caller._model
    text = (tmp_path / "planner.md").read_text()
    assert text == caller.transcript.text
    replay = PlannerSettings(backend="replay", model=model, seed=3, transcript="again.md")
    again, again_counts, _, again_caller = cook(replay, tmp_path)
    assert (again, again_counts, again_caller.counts) == (soups, counts, caller.counts)
    assert (tmp_path / "again.md").read_text() == text
    for heading in ("# Transcript", "### Call: decomposition", "### Call: allocation", "### Call: fault"):
        assert heading in text
    assert text.count("planned again") == counts.reflections == text.count("## Reflection")
    assert text.count(" ended\n") == counts.rounds
    assert text.count("    Two chefs share a kitchen") == 3  # instructions are told once each
