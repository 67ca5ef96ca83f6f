"""Base of all experiments in MESSENGER, and notes on deviations from the paper and its release."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeVar

from rl_envs.core.metrics import MetricRange
from rl_envs.messenger.corpus_file import OWN
from rl_envs.messenger.world import Messenger
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps, optimiser_steps
from tune_experiments.launch.experiment import Experiment
from tune_experiments.messenger.config import GROUNDED, MOVING, MessengerConfig, MessengerRunConfig, make_world
from tune_experiments.results.main_comparison import MainComparison

Config = TypeVar("Config", bound=MessengerRunConfig)


class MessengerExperiment(Experiment[Config]):
    """One table on MESSENGER; `compared` are the methods of the main comparison, in test games of the last stage."""

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


def deviation_notes(config: MessengerRunConfig) -> list[str]:
    """Deviations from the paper and its release that no flag shows."""
    weight = config.learner.grounding_coef
    notes = [
        f"method {row}: a contrastive grounding loss of weight {weight:g}; the paper has none"
        for row in config.methods
        if row.endswith(GROUNDED)
    ]
    notes += [
        "the convolution sees the moments of a cell as channels, as the paper says; the release's sees three cells",
        "values are bootstrapped where a fragment ends and advantages standardised; the release cuts and standardises "
        "returns",
    ]
    if config.texts == OWN:
        notes.append("sentences are our own, from 82 templates; --texts published reads the published corpus")
    return notes


def compare_optimiser_steps(config: MessengerRunConfig, reference: MessengerRunConfig) -> str:
    """Sentence that compares the optimiser steps of a run's first stage with the release's."""
    steps = optimiser_steps(reference.learner.at_stage(1), reference.workers, reference.first_stage_env_steps)
    own, how = config.learner.at_stage(config.stages[0]), ", each in the first stage"
    return describe_optimiser_steps(own, config.workers, config.first_stage_env_steps, steps, "the release", how)


def movement_notes(config: MessengerConfig) -> list[str]:
    """Deviations of methods whose queries hold movements."""
    notes, weight = [], config.movement_grounding_coef
    for row in (row for row in config.methods if row.startswith(MOVING)):
        notes.append(f"method {row}: a sprite's query shows if it approaches or moves away; the paper's does not")
        if weight:
            notes.append(f"method {row}: a movement contrast of weight {weight:g}; the paper has none")
    return notes
