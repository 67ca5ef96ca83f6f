"""A trial on the Ray session that is stopped at the end of its test."""

import pytest

from rl_models.rllib.team_algorithm import TeamAlgorithm


@pytest.fixture
def start(ray_session):
    """Start the trial of a plan; all are closed at the end."""
    built = []

    def _start(plan):
        built.append(TeamAlgorithm(plan))
        return built[-1]

    yield _start
    for one in built:
        one.close()
