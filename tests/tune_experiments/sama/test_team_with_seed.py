"""Planners of different trials err differently, and so do a planner and its retries."""

import dataclasses

import pytest

from tune_experiments.experiment.finding import find_experiment
from tune_experiments.sama import planning
from tune_experiments.sama.overcooked import evaluation
from tune_experiments.sama.planning import make_planner
from tune_experiments.sama.play import TeamWithSeed, planner_seed

EXPERIMENT = find_experiment("sama_ablations")
SMOKE = EXPERIMENT.presets["smoke"]
METHOD = "sama-cramped_room"


def team(seed):
    made = EXPERIMENT.plan(SMOKE, METHOD, seed)
    return made.stages[-1].plan.build_policy() if hasattr(made, "stages") else made.build_policy()


@pytest.mark.long
def test_each_trial_and_each_retry_has_a_planner_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(
        planning,
        "make_planner",
        lambda config, task, seed, *others: seeds.append(seed) or make_planner(config, task, seed, *others),
    )
    config = dataclasses.replace(SMOKE, planner="noisy", after_failure="retry", reflections=3)
    for seed in (0, 1, 2):
        evaluation.planned_episodes(config, METHOD, team(seed), 1)
    assert len(seeds) == len(set(seeds)) == 3 * 4


def test_a_team_that_is_loaded_again_has_the_same_planner():
    first, again = team(3), team(3)
    assert isinstance(first, TeamWithSeed)
    assert planner_seed(first, 400) == planner_seed(again, 400) != planner_seed(team(4), 400)
