"""A team with the seed of its trial, so that the planners of different trials err differently in tests."""

from __future__ import annotations

from rl_models.policy import TeamPolicy

_TRIALS_APART = 1_000


class TeamWithSeed(TeamPolicy):
    """A team with the seed of its trial, from which its tests draw games, a planner's errors and random commands.

    Attributes:
        seed: seed of the trial.
    """

    def __init__(self, team: TeamPolicy, seed: int) -> None:
        super().__init__(team.network, team.policy_head, team.value_head)
        self.seed = seed


def planner_seed(team: TeamPolicy, base: int) -> int:
    """Seed of the planner in a team's test; each trial has another, so intervals over seeds hold the planner's errors.

    Args:
        team: trained team; one without a seed gets the test's.
        base: seed of the test.
    """
    return base + _TRIALS_APART * (1 + team.seed) if isinstance(team, TeamWithSeed) else base
