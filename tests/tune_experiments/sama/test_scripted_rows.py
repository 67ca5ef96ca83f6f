"""Planners tested without a trained team: scripted chefs and walkers, and what a model costs them."""

import dataclasses

import numpy as np
import pytest

from rl_models.planners.scored import Scored
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import Tested
from tune_experiments.results.rows import Result
from tune_experiments.sama import planning
from tune_experiments.sama.planned_experiment import BY_RULE, MODEL_COSTS, QUESTIONS, planner_note
from tune_experiments.sama.planner_config import ModelSettings

KITCHEN, LAKE = find_experiment("sama_overcooked"), find_experiment("sama_frozen_lake")
SCORED = {"planner": "scored", "model": ModelSettings(name="some model")}
CHEFS = dataclasses.replace(
    KITCHEN.presets["smoke"],
    methods=("scripted",),
    reflections=0,
    also_tests=("random_commands", "random_possible_commands"),
)
WALKER = dataclasses.replace(LAKE.presets["smoke"], methods=("walker",), reflections=0)


@pytest.fixture(autouse=True)
def scores_favour_the_first(monkeypatch):
    """The model scores 10 tokens a question, and likes what is listed first."""

    def score(questions):
        return [Scored(tuple(range(0, -len(phrases), -1)), 10) for _, phrases in questions]

    monkeypatch.setattr(planning, "scorer", lambda name, normalisation: score)


def run_tests(experiment, config, method):
    trial = experiment.plan(config, method, 0)
    assert not trial.learns
    return experiment.evaluate_trial(config, method, trial.build_policy(), None)


@pytest.mark.long
def test_chefs_by_script_serve_under_a_model_and_its_cost_is_counted():
    tests = run_tests(KITCHEN, dataclasses.replace(CHEFS, **SCORED, max_episode_steps=60), "scripted-cramped_room")
    found = tests["cramped_room"]
    assert found["rounds"].min() > 1
    calls, tokens, refused, recorded = (float(found[name][0]) for name in MODEL_COSTS)
    assert calls == found[QUESTIONS] and tokens == 10 * calls  # rules answer no question
    assert refused == recorded == 0
    assert found[BY_RULE] == 0
    for name in ("random commands", "random possible commands"):
        other = tests[Tested("cramped_room", name)]
        assert other[BY_RULE] == 1 and MODEL_COSTS[0] not in other
    assert tests[Tested("cramped_room", method="rules_scripted")]["soups"].min() > 0


@pytest.mark.parametrize("costs", [{}, {"calls": 33.0}])
def test_a_model_that_was_asked_is_named_also_where_rules_answered_every_question(costs):
    measured = {QUESTIONS: 11.0, BY_RULE: 1.0} | costs
    lines = [Result("E", "T", "m", "W", "test", 0, name, value) for name, value in measured.items()]
    assert planner_note(lines, "BY HAND.", (), "a game").startswith("BY HAND.") == (not costs)


def test_tests_by_rules_alone_are_named_and_leave_the_share_of_the_others_as_it_is():
    measured = {"random commands 0.5": (0.25, 9.0), "weak planner": (1.0, None)}
    lines = [
        Result("E", "T", method, "W", "test", 0, name, value)
        for method, (share, calls) in measured.items()
        for name, value in ((QUESTIONS, 11.0), (BY_RULE, share), (MODEL_COSTS[0], calls))
        if value is not None
    ]
    note = planner_note(lines, "", ("random commands", "weak planner"), "a game")
    assert "25.0 to 25.0 %" in note and "random commands" not in note and "`weak planner`" in note


def test_chefs_by_script_have_no_choices_to_show():
    loaded = type("Loaded", (), {"method": "scripted-cramped_room"})
    with pytest.raises(UserError, match="render"):
        KITCHEN.episodes(loaded)


def test_a_walker_is_sent_by_a_model_that_is_told_the_map_or_not():
    tests = run_tests(LAKE, dataclasses.replace(WALKER, **SCORED), "walker")
    by_model = {name: found for name, found in tests.items() if "scored" in name.condition}
    assert {name.condition for name in by_model} == {"scored blind, walker", "scored privileged, walker"}
    for found in by_model.values():
        assert found["calls"] > 0 and found[BY_RULE] == 0
    (rules,) = (found for name, found in tests.items() if name.condition == "sama privileged, walker")
    np.testing.assert_array_equal(rules["success"], 1.0)
    assert "calls" not in rules


def test_no_model_writes_the_rewards_of_the_lake():
    with pytest.raises(UserError, match="--reward-source"):
        dataclasses.replace(WALKER, reward_source="code")
