"""Coefficients over the course of training."""

import pytest

from rl_models.schedule import Progress, Schedule


@pytest.mark.parametrize(
    ("moment", "value"), [(0, 1.0), (5, 1.0), (10, 1.0), (15, 0.75), (20, 0.5), (30, 0.25), (40, 0.0), (10**9, 0.0)]
)
def test_a_schedule_is_linear_between_points_and_constant_outside_them(moment, value):
    schedule = Schedule(((10, 1.0), (20, 0.5), (40, 0.0)))
    assert schedule.at(Progress(env_steps=moment)) == pytest.approx(value)


def test_a_schedule_counts_in_its_unit():
    schedule = Schedule.linear(1.0, 0.0, 10, unit="episodes")
    assert schedule.at(Progress(env_steps=10**6)) == 1.0
    assert schedule.at(Progress(episodes=5)) == 0.5
    in_steps = Schedule.linear(1.0, 0.0, 10, unit="optimiser_steps")
    assert [in_steps.at(Progress(env_steps=99, episodes=99, updates=one)) for one in (0, 5, 20)] == [1.0, 0.5, 0.0]
    assert Schedule.linear(1.0, 0.0, 10).at(Progress(env_steps=5, episodes=9)) == 0.5


def test_a_schedule_that_ends_at_once_has_its_last_value_from_the_first_step_on():
    assert Schedule.linear(1.0, 0.0, 0).at(Progress(env_steps=1)) == 0.0
