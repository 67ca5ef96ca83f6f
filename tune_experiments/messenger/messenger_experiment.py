"""Base of all experiments in MESSENGER: environments, evaluation and figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeVar

from rl_envs.core.metrics import MetricRange
from rl_envs.messenger.world import Messenger
from tune_experiments.launch.experiment import Experiment
from tune_experiments.messenger.config import MessengerRunConfig, make_world
from tune_experiments.results.main_comparison import MainComparison

__all__ = ["MessengerExperiment"]

Config = TypeVar("Config", bound=MessengerRunConfig)


class MessengerExperiment(Experiment[Config]):
    """One table on MESSENGER.

    Attributes:
        compared: the two methods of the main comparison, in test games of the last stage.
    """

    metric_ranges: Mapping[str, MetricRange] = Messenger.metric_ranges
    is_greedy = True
    compared: tuple[str, str]

    def compared_methods(self, config: Config) -> tuple[str, str]:
        """The two rows of the main comparison of a run."""
        return self.compared

    def main_comparisons(self, config: Config) -> Sequence[MainComparison]:
        """Both methods in test games of the last stage."""
        stage = config.last_stage
        title = f"{self.caption}, stage {stage}"
        return (MainComparison(*self.compared_methods(config), "win_rate", f"stage_{stage}_test", table=title),)

    def as_loaded(self, config: Config) -> Config:
        """The configuration with frozen encodings in the user's cache."""
        return dataclasses.replace(config, encoder=dataclasses.replace(config.encoder, folder=""))

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> Messenger:
        """New games of the last stage."""
        return make_world(config, config.last_stage, num_worlds, split="test")

    def valid_world(self, config: Config, num_worlds: int) -> Messenger:
        """Validation games of the last stage."""
        return make_world(config, config.last_stage, num_worlds, split="val")
