"""The planner that settings name: rules, rules that err, a record of their answers, and a manual of its own."""

import dataclasses

import pytest

from rl_models.planners.offline import OfflineBackend
from tune_experiments.sama.endpoint import RECORD
from tune_experiments.sama.overcooked.domain import KitchenDomain
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama_overcooked import SMOKE

LAYOUT = "cramped_room"
STATES = dict(enumerate(KitchenDomain(LAYOUT).diverse_states(40, seed=1)))
NOISY = dataclasses.replace(SMOKE, planner="noisy", noise="weaker")


def plans(config, **changes):
    return [
        plan.commands
        for plan in make_planning_loop(dataclasses.replace(config, **changes), LAYOUT, 0).begin(STATES).values()
    ]


def test_rules_that_err_also_answer_what_their_record_does_not_hold(tmp_path):
    erring, exact = plans(NOISY), plans(SMOKE)
    assert sum(one != other for one, other in zip(erring, exact, strict=True)) > 10
    (tmp_path / RECORD).touch()
    assert plans(NOISY, replay=str(tmp_path)) == erring
    assert plans(SMOKE, replay=str(tmp_path)) == exact


def test_a_record_answers_for_the_rules_that_wrote_it(tmp_path):
    recorded = plans(NOISY, record=str(tmp_path))
    assert plans(NOISY, replay=str(tmp_path)) == recorded


@pytest.mark.parametrize("goals", ["sama", "deps"])
def test_every_question_shows_the_manual_that_was_written_from_a_paper(goals, tmp_path, monkeypatch):
    paper = tmp_path / "game.tex"
    paper.write_text("Onions are cooked in pots. A ZEBRA stands beside the pot.\n\nDishes hold soups.")
    loop = make_planning_loop(dataclasses.replace(SMOKE, goals=goals, manual=str(paper)), LAYOUT, 0, tmp_path)
    asked, complete = [], OfflineBackend.complete
    monkeypatch.setattr(OfflineBackend, "complete", lambda self, one: asked.append(one) or complete(self, one))
    loop.begin({0: STATES[0]})
    stages = {request.stage for request in asked}
    assert stages == {"decomposition", "allocation"} | ({"goals"} if goals == "deps" else set())
    shown = [loop.planner.manual in " ".join(one.content for one in request.messages) for request in asked]
    assert all(shown) and loop.planner.manual != loop.planner.domain.manual
