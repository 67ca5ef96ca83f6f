"""Rules of ranges, which stand beside their fields; tests/tune_experiments/test_errors.py has those of real ones."""

import math
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.configuration import UnitInterval
from tune_experiments.core.checks import check_ranges
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse


@dataclass(frozen=True)
class Learner:
    learning_rate: PositiveFloat = 0.1
    gamma: UnitInterval = 0.99
    free: float = math.inf


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner()
    games: PositiveInt = 256
    layers: tuple[PositiveInt, ...] = (1, 2)
    limit: NonNegativeInt | None = None
    num_agents: Annotated[int, Field(ge=2, le=3)] = 2

    def __post_init__(self):
        check_ranges(self)


WRONG = [
    ("learner.learning-rate", 0.0, "greater than 0"),
    ("learner.learning-rate", math.inf, "finite"),
    ("learner.gamma", math.nan, "must be"),
    ("learner.gamma", 1.5, "less than or equal to 1"),
    ("games", 0, "greater than 0"),
    ("layers", 0, "greater than 0"),
    ("limit", -1, "greater than or equal to 0"),
    ("num-agents", 4, "less than or equal to 3"),
]


@pytest.mark.parametrize(("flag", "value", "range_"), WRONG)
def test_a_flag_out_of_range_is_named_with_its_range(flag, value, range_):
    with pytest.raises(UserError) as raised:
        parse({"laptop": Config()}, [f"--{flag}", str(value)], "")
    said = str(raised.value)
    assert said.startswith(f"--{flag}") and range_ in said and said.endswith(f"not {value}")
