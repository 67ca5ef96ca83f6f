"""Where two configurations differ, in words."""

from dataclasses import dataclass, field

import pytest

from tune_experiments.results.differences import differences


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    widths: tuple[int, ...] = (64, 64)


@dataclass(frozen=True)
class Outer:
    joint_ratio: bool = True
    budget: int = 5_000
    inner: Inner = field(default_factory=Inner)


NAMES = {"inner.widths": "widths", "inner.rate": "rate", "joint_ratio": "joint form", "budget": "env steps"}


def test_equal_fields_are_not_told():
    assert differences(Outer(), Outer(), NAMES) == {}


def test_each_differing_field_is_told_once_in_the_order_of_the_names():
    ours = Outer(False, 1_000_000, Inner(widths=(8,)))
    assert list(differences(ours, Outer(), NAMES, "published is").items()) == [
        ("inner.widths", "widths: 8, published is 64 64"),
        ("joint_ratio", "joint form: no, published is yes"),
        ("budget", "env steps: 1,000,000, published is 5,000"),
    ]


def test_what_the_reference_does_not_have_is_passed_over_and_what_we_do_not_have_is_a_mistake():
    assert differences(Outer(), Inner(), {"joint_ratio": "joint form"}) == {}
    with pytest.raises(AttributeError):
        differences(Inner(), Outer(), {"joint_ratio": "joint form"})
