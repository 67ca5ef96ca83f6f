"""Fragments of rows of `concord train`, for the tests of what rows and networks learn from."""

from rl_models.training.collector import Collector
from tune_experiments.teams.trials import plan


def played(config, row, length=6):
    """Plan and policy of a row, and a fragment of three environments that the policy has played."""
    trial = plan(config, row, 0)
    policy = trial.build_policy()
    collector = Collector(trial.make_world(num_worlds=3, first_world=0), policy, length, trial.objective.needs_values)
    collector.reset(0)
    return trial, policy, collector.collect()
