"""Wrong arguments from Python: one sentence that names the flag or the argument, before anything starts."""

import dataclasses
from pathlib import Path

import numpy as np

from tune_experiments.core.config_path import with_flags, with_overrides
from tune_experiments.experiment.finding import find_experiment

TEAMS = find_experiment("train")


def test_numbers_of_numpy_paths_groups_and_both_spellings_are_taken():
    config = TEAMS.presets["smoke"]
    changed = with_overrides(
        config,
        {
            "budget_env_steps": np.int64(1600),
            "env": Path("mpe2.simple_spread_v3"),
            "learner": {"gamma": np.float32(0.5)},
            "language.learning-rate": 0.25,
            "methods": ["sync-4"],
        },
    )
    assert (changed.budget_env_steps, changed.learner.gamma, changed.language.learning_rate) == (1600, 0.5, 0.25)
    assert changed.methods == ("sync_4",)
    assert changed.learner == dataclasses.replace(config.learner, gamma=0.5), "the rest of the group stays"
    assert with_overrides(config, {"learner": changed.learner}).learner == changed.learner


def test_a_sentence_of_an_environment_names_the_flag_of_a_field():
    config = TEAMS.presets["smoke"]
    assert "--agents-leave is False" in with_flags("agent a is gone and agents_leave is False: set it to True", config)
    said = "'agents_leave' of path/agents_leave and --agents-leave; learner and env"
    assert with_flags(said, config) == said
