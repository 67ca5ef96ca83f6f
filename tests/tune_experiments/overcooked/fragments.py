"""Fragments of the worlds and teams of a trial."""

from rl_models.training.collector import Collector


def fragment_of(trial, worlds=4, length=10):
    """The policy with its initial weights, and what it plays first."""
    world, policy = trial.make_world(num_worlds=worlds, first_world=0), trial.build_policy()
    collector = Collector(world, policy, length)
    collector.reset(0)
    return policy, collector.collect()
