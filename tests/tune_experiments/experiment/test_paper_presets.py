"""Presets called `paper` have the papers' numbers, or say which they have in their place."""

import pytest

from tests.tune_experiments.experiment.paper_numbers import PAPERS
from tests.tune_experiments.experiments import TRAINED
from tune_experiments.core.config_path import value_at
from tune_experiments.experiment.finding import find_experiment

pytestmark = pytest.mark.long


def of_preset(config, path):
    """Value of a setting; of worlds that play at once, which two settings make."""
    group, _, name = path.rpartition(".")
    workers = value_at(config, group) if group else config
    return workers.runners * workers.worlds_per_runner if name == "env_steps_at_once" else value_at(config, path)


def in_words(value):
    """Ways in which a note or a flag writes a value."""
    if isinstance(value, tuple):
        return (" ".join(map(str, value)),)
    return (str(value), f"{value:,}") if isinstance(value, int) else (str(value),)


def unsaid(config, numbers, notes):
    """Settings whose number is not the paper's, and of which no note names both."""
    differing = {path: (of_preset(config, path), paper) for path, paper in numbers.items()}
    notes = [one for note in notes for one in note.split(", --")]
    return [
        path
        for path, both in differing.items()
        if both[0] != pytest.approx(both[1])
        and not any(all(any(word in note for word in in_words(value)) for value in both) for note in notes)
    ]


def test_every_preset_called_paper_is_compared():
    assert sorted(PAPERS) == [name for name in TRAINED if "paper" in find_experiment(name).presets]


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_each_number_that_differs_from_the_paper_is_said(name):
    experiment = find_experiment(name)
    config = experiment.presets["paper"]
    assert unsaid(config, PAPERS[name], experiment.deviations(config)) == []
