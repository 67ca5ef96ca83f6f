"""Dotted paths: what is read, replaced and written as flags is what the command line means by them."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tune_experiments.core.config_path import flags_between, value_at, with_flags, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.finding import find_experiment


@dataclass(frozen=True)
class Learner:
    lambda_: float = 0.95
    joint_ratio: bool = True
    sums_losses: bool = False
    widths: tuple[int, ...] = (64, 64)
    loss_weights: dict[str, float] = field(default_factory=lambda: {"cordial_code": 1.0})
    clip: float | None = None

    def __post_init__(self):
        if self.lambda_ > 1:
            raise UserError("too large")


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner()
    train_rooms: str = "train"


def test_a_value_is_replaced_at_its_path_alone_and_checked_like_any_other():
    config = with_overrides(Config(), {"learner.lambda_": 0.5})
    assert value_at(config, "learner.lambda_") == 0.5
    assert config == Config(Learner(lambda_=0.5))
    with pytest.raises(UserError, match="too large"):
        with_overrides(Config(), {"learner.lambda_": 2.0})


@pytest.mark.parametrize("path", ["learner.gamma", "gamma", "learner.lambda_.x"])
def test_a_path_that_leads_nowhere_is_an_error(path):
    with pytest.raises(AttributeError):
        value_at(Config(), path)
    with pytest.raises(UserError):
        with_overrides(Config(), {path: 1})


@pytest.mark.parametrize(
    "new",
    [
        Config(),
        Config(Learner(lambda_=1e-5)),
        Config(Learner(lambda_=-2.0, clip=0.3)),
        Config(Learner(joint_ratio=False, sums_losses=True)),
        Config(Learner(widths=(3,)), train_rooms="a room's file.json"),
        Config(Learner(loss_weights={"cordial_code": 0.25})),
    ],
    ids=str,
)
def test_flags_between_two_configurations_are_read_back_as_the_second(new):
    old = Config()
    assert bool(flags_between(old, new)) == (new != old)
    assert parse({"laptop": old}, flags_between(old, new), "")[0] == new
    assert parse({"laptop": new}, flags_between(new, old), "")[0] == old


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
