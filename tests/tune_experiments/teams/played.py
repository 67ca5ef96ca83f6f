"""Fragments of rows of `concord train`, for the tests of what rows and networks learn from."""

from tests.tune_experiments.fragments import play
from tune_experiments.teams.trials import plan


def played(config, row, length=6):
    """Plan and policy of a row, and a fragment of three environments that the policy has played."""
    trial = plan(config, row, 0)
    return trial, *play(trial, 3, length)
