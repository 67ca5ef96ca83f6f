"""What a run is said to cost before it starts."""

import dataclasses
import itertools
from types import SimpleNamespace

import pytest

from rl_models.rllib.workers import Workers
from rl_models.training.collector import Collector
from tests.tune_experiments.run.stages import plan, three_stages
from tune_experiments.run import speed as module
from tune_experiments.run.speed import cost, makespan_env_steps, measured_seconds, seconds_per_env_step


def test_a_trial_begins_as_soon_as_another_ends():
    assert makespan_env_steps([10, 10, 10], 2) == 20
    assert makespan_env_steps([10, 30, 10, 10], 2) == 30
    assert makespan_env_steps([10, 30], 5) == 30


def test_runners_share_the_playing_and_learners_the_learning():
    def seconds(takes_turns, **workers):
        return seconds_per_env_step(0.6, 0.4, Workers(**workers), takes_turns)

    assert seconds(takes_turns=True) == seconds(takes_turns=False) == 1.0
    assert seconds(takes_turns=True, runners=6) == pytest.approx(0.5)  # 0.1 of sampling, then 0.4 of learning
    assert seconds(takes_turns=False, runners=6) == pytest.approx(0.4)  # at the same time: the learner's
    assert seconds(takes_turns=False, runners=6, learners=8) == pytest.approx(0.1)
    assert seconds(takes_turns=True, runners=2, learners=2) == pytest.approx(0.5)


def test_stages_and_trials_of_all_lengths_are_counted(monkeypatch):
    timed = []
    monkeypatch.setattr(module, "measured_seconds", lambda plan: timed.append(plan) or (0.2, 0.3))
    staged = three_stages()  # at most 60 env steps each
    heard = []
    said = cost([plan(budget_env_steps=20), staged, plan(budget_env_steps=30)], 2, heard.append)
    assert len(heard) == 1
    for words in ("3 trials", "20 to 180 env steps", "up to 3 stages", "2 at a time", "90 seconds", "2 env steps"):
        assert words in said
    assert timed == [staged.stages[2].plan]
    alone = cost([plan(budget_env_steps=7_000)], 1)
    assert "7,000 env steps" in alone and "58 minutes" in alone
    continued = cost([plan(budget_env_steps=7_000), plan(budget_env_steps=20)], 1, trained=[6_880, 20])
    assert "60 seconds" in continued and "1 trial " in continued
    assert "without training" in cost([plan(budget_env_steps=20)], 1, trained=[32])


@pytest.mark.parametrize(("seconds", "played"), [(0.0, [5, 5, 5]), (10.0, [])])
def test_a_slow_team_is_timed_on_few_env_steps(monkeypatch, seconds, played):
    """Whole fragments of 5 steps are played by a fast team alone, after fragments of 2."""
    clock, lengths = itertools.count(step=seconds), []

    class Counted(Collector):
        def collect(self):
            lengths.append(self.fragment_length)
            return super().collect()

    monkeypatch.setattr(module, "Collector", Counted)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    measured_seconds(plan())
    assert lengths == [2, 2, *played]


def test_worlds_that_are_timed_are_closed():
    declared, still_open = plan(), []

    def make_world(**options):
        world = declared.make_world(**options)
        world.close = lambda: still_open.remove(world)
        still_open.append(world)
        return world

    measured_seconds(dataclasses.replace(declared, make_world=make_world))
    assert not still_open
