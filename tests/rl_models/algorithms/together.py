"""Several learners as threads of this process, and what they must be: equal to the bit, and equal to one learner."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from rl_models.algorithms.optimiser import optimiser_tensors
from rl_models.batch import Learners, to_batch
from tests.timeouts import TIMEOUT_SECONDS


class Together:
    """Threads that wait for each other at every sum, which all form in the same order."""

    def __init__(self, size):
        self._barrier = threading.Barrier(
            size, timeout=TIMEOUT_SECONDS
        )  # of a learner that sums less often than the others
        self._parts = [None] * size

    def learners(self):
        """One for each thread."""
        size = len(self._parts)
        return [Learners(rank, size, lambda part, rank=rank: self._sum(rank, part)) for rank in range(size)]

    def _sum(self, rank, part):
        self._parts[rank] = part.clone()
        self._barrier.wait()
        total = sum(self._parts[1:], self._parts[0])
        self._barrier.wait()
        return total


def run_together(shares, make_learner, fragments):
    """Learners that have learned from their shares of each fragment; `told` is what they say of the last one."""
    made = [make_learner(learners=one) for one in Together(len(shares)).learners()]

    def learn(learner, first, share):
        for fragment in fragments:
            learner.told = learner.learn_part(to_batch(fragment[first : first + share]))

    at_once(learn, made, np.cumsum((0, *shares[:-1])).tolist(), shares)
    return made


def at_once(function, *arguments):
    """Call a function in as many threads as it has arguments, as `map` does."""
    with ThreadPoolExecutor(len(arguments[0])) as threads:
        list(threads.map(function, *arguments))


def assert_equal_replicas(made):
    first = made[0]
    for other in made[1:]:
        assert other.progress == first.progress
        assert other.optimiser.param_groups[0]["lr"] == first.optimiser.param_groups[0]["lr"]
        torch.testing.assert_close(other.policy.state_dict(), first.policy.state_dict(), rtol=0, atol=0)
        wanted = optimiser_tensors(first.optimiser)
        torch.testing.assert_close(optimiser_tensors(other.optimiser), wanted, rtol=0, atol=0)


def assert_equals_one(made, one, atol=1e-6):
    assert made[0].progress == one.progress
    assert made[0].optimiser.param_groups[0]["lr"] == one.optimiser.param_groups[0]["lr"]
    torch.testing.assert_close(made[0].policy.state_dict(), one.policy.state_dict(), atol=atol, rtol=0)


def assert_equal_gradients(made, one):
    """Gradients of the last minibatch are equal; Adam would hide their scale. Some are only rounding."""
    largest = max(float(weight.grad.abs().max()) for weight in one.policy.parameters() if weight.grad is not None)
    for weight, wanted in zip(made[0].policy.parameters(), one.policy.parameters(), strict=True):
        if wanted.grad is None:
            assert weight.grad is None
        else:
            within = 1e-4 * float(wanted.grad.abs().max()) + 1e-7 * largest
            torch.testing.assert_close(weight.grad, wanted.grad, atol=within, rtol=0)
