"""Configurations of earlier versions are read where that is declared."""

from dataclasses import dataclass, field

import pytest

from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.errors import UserError


@dataclass(frozen=True)
class Renamed:
    value_coef: float = field(default=0.5, metadata={"renamed_from": "value_weight"})


def test_a_field_is_read_under_the_name_that_it_had_and_written_under_its_own():
    assert config_from_json(Renamed, {"value_weight": 0.1}) == Renamed(0.1)
    assert config_from_json(Renamed, config_to_json(Renamed(0.2))) == Renamed(0.2)
    assert config_to_json(Renamed()) == {"value_coef": 0.5}


def test_a_field_under_both_names_is_refused():
    with pytest.raises(UserError, match="unknown value_weight"):
        config_from_json(Renamed, {"value_weight": 0.1, "value_coef": 0.2})
