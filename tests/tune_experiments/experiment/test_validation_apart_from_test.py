"""Validation plays other episodes than the test: other rooms, another split or another seed."""

import pytest

from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.finding import find_experiment

EXPERIMENTS = (
    "endi_messenger",
    "endi_rtfm",
    "furnlift",
    "furnmove_sync",
    "messenger_emma",
    "overcooked_roles",
    "overcooked_selfplay",
    "pettingzoo_teams",
    "rtfm_matching",
    "rtfm_rock_paper_scissors",
    "rtfm_txt2pi",
    "verco_salad",
)


class Playing(Exception):
    """An evaluation has begun."""


def first_episode(monkeypatch, function, *arguments):
    """Seed of the first evaluation of a function, and what is seen at its start in the first world."""

    def run(self, seed):
        raise Playing(seed, {key: values[0].tobytes() for key, values in self.world.reset(seed).items()})

    monkeypatch.setattr(Evaluation, "run", run)
    with pytest.raises(Playing) as playing:
        function(*arguments)
    return playing.value.args


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_validation_plays_other_episodes_than_the_test(name, monkeypatch):
    experiment = find_experiment(name)
    config = experiment.presets["smoke"]
    method = config.methods[0]
    made = experiment.plan(config, method, 0)
    plan = made.stages[-1].plan if hasattr(made, "stages") else made
    policy = plan.build_policy()
    validation = first_episode(monkeypatch, plan.validate, policy)
    assert validation != first_episode(monkeypatch, experiment.evaluate, config, method, policy)


def test_two_first_episodes_of_the_same_function_are_equal(monkeypatch):
    experiment = find_experiment("furnmove_sync")
    config = experiment.presets["smoke"]
    plan = experiment.plan(config, config.methods[0], 0)
    policy = plan.build_policy()
    assert first_episode(monkeypatch, plan.validate, policy) == first_episode(monkeypatch, plan.validate, policy)
