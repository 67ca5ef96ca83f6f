"""The search space of self-play."""

import pytest

from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.overcooked.trials import plan
from tune_experiments.overcooked_selfplay import EXPERIMENT, LAPTOP, PAPER


def training(config):
    trial = plan(config, "selfplay", 0)
    return repr((trial.objective, trial.optimiser))


@pytest.mark.parametrize("path", EXPERIMENT.search_space().domains)
def test_every_constant_that_is_varied_changes_training_and_reaches_the_presets(path):
    domain = EXPERIMENT.search_space().domains[path]
    for config in (LAPTOP, PAPER):
        assert domain.lower <= value_at(config, path) <= domain.upper
        for value in (domain.lower, domain.upper):
            assert training(with_overrides(config, {path: value})) != training(config)
