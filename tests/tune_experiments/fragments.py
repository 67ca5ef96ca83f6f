"""What the untrained team of a trial plays first, and what it is after updates from its own play."""

from rl_models.training.collector import Collector
from rl_models.training.loop import Learner


def play(trial, worlds=4, length=10):
    """The policy with its initial weights, and the first fragment of its collector."""
    policy, collector = begin(trial, worlds, length)
    return policy, collector.collect()


def update(trial, worlds=4, length=3):
    """The policy after its first update, and what the learner says of it."""
    policy, fragment = play(trial, worlds, length)
    return policy, Learner(policy, trial.objective, trial.optimiser).update([fragment])


def learn(trial, updates, worlds, length):
    """The policy after some updates."""
    policy, collector = begin(trial, worlds, length)
    learner = Learner(policy, trial.objective, trial.optimiser)
    for _ in range(updates):
        learner.update([collector.collect()])
    return policy


def begin(trial, worlds, length):
    """The policy with its initial weights, and its collector."""
    world, policy = trial.make_world(num_worlds=worlds, first_world=0), trial.build_policy()
    collector = Collector(world, policy, length, trial.objective.needs_values)
    collector.reset(0)
    return policy, collector
