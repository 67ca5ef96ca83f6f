"""What the untrained team of a trial plays first, and what it is after updates from its own play."""

import numpy as np

from rl_models.training.loop import Learner
from tests.rl_models.training.small import begun


def play(trial, worlds=4, length=10):
    """The policy with its initial weights, and the first fragment of its collector."""
    policy, collector = begin(trial, worlds, length)
    return policy, collector.collect()


def update(trial, worlds=4, length=3):
    """The policy after its first update, whose loss is a number, and what the learner says of it."""
    policy, fragment = play(trial, worlds, length)
    return policy, _update(trial, policy, fragment)


def _update(trial, policy, fragment):
    told = Learner(policy, trial.objective, trial.optimiser).update([fragment])
    assert np.isfinite(float(told["loss/total"]))
    return told


def unmoved(trial, policy, fragment):
    """Names of the weights that an update by a fragment leaves as they are; its loss is a number."""
    before = {name: weights.clone() for name, weights in policy.named_parameters()}
    _update(trial, policy, fragment)
    return [name for name, weights in policy.named_parameters() if weights.equal(before[name])]


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
    return policy, begun(world, policy, length, trial.objective.needs_values, seed=0)
