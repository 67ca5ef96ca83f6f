"""Several learners as threads of this process, and what they must be: equal to the bit, and equal to one learner."""

import threading

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
    """Learners that have learned from their shares of each fragment."""
    made, failures = [make_learner(learners=one) for one in Together(len(shares)).learners()], []

    def learn(learner, first, share):
        try:
            for fragment in fragments:
                learner.learn(to_batch(fragment[first : first + share]))
        except Exception as error:
            failures.append(error)

    firsts = np.cumsum((0, *shares[:-1])).tolist()
    threads = [threading.Thread(target=learn, args=each) for each in zip(made, firsts, shares, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return made


def assert_equal_replicas(made):
    first = made[0]
    for other in made[1:]:
        assert other.progress == first.progress
        assert other.optimiser.param_groups[0]["lr"] == first.optimiser.param_groups[0]["lr"]
        for name, value in other.policy.state_dict().items():
            assert torch.equal(value, first.policy.state_dict()[name]), name
        wanted = optimiser_tensors(first.optimiser)
        for name, value in optimiser_tensors(other.optimiser).items():
            assert torch.equal(value, wanted[name]), name


def assert_equals_one(made, one, atol=1e-6):
    assert made[0].progress == one.progress
    assert made[0].optimiser.param_groups[0]["lr"] == one.optimiser.param_groups[0]["lr"]
    for name, value in one.policy.state_dict().items():
        torch.testing.assert_close(made[0].policy.state_dict()[name], value, atol=atol, rtol=0, msg=name)


def assert_equal_gradients(made, one):
    """Gradients of the last minibatch are equal; Adam would hide their scale. Some are only rounding."""
    largest = max(float(weight.grad.abs().max()) for weight in one.policy.parameters() if weight.grad is not None)
    for weight, wanted in zip(made[0].policy.parameters(), one.policy.parameters(), strict=True):
        if wanted.grad is None:
            assert weight.grad is None
        else:
            within = 1e-4 * float(wanted.grad.abs().max()) + 1e-7 * largest
            torch.testing.assert_close(weight.grad, wanted.grad, atol=within, rtol=0)
