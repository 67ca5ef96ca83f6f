"""How many minibatches there are: learners whose shares of the worlds differ by one must not wait for each other."""

import pytest
import torch

from rl_models.algorithms.objective import Ppo
from rl_models.training.loop import minibatches


def sizes(worlds, wanted):
    batch = {"is_first": torch.zeros(worlds, 5), "world": torch.arange(worlds)}
    return [len(part["world"]) for part in minibatches(Ppo(epochs=1, minibatches=wanted), batch, seed=0)]


@pytest.mark.parametrize("worlds", [4, 5, 6, 7, 9])
def test_there_are_as_many_minibatches_as_the_objective_says_and_nearly_equal_ones(worlds):
    assert len(sizes(worlds, 4)) == 4
    assert max(sizes(worlds, 4)) - min(sizes(worlds, 4)) <= 1
    assert sum(sizes(worlds, 4)) == worlds


def test_no_minibatch_is_empty():
    assert sizes(3, 4) == [1, 1, 1]
