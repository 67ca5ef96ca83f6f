"""Double Q-learning targets that look ahead; one step: `algorithms/test_qmix_with_leaving_agents.py`."""

import pytest
import torch

from rl_models.layers.monotonic_mixer import sum_of_values
from rl_models.losses.q_learning import double_q_targets


def test_targets_that_look_ahead_are_those_of_the_recursion():
    torch.manual_seed(1)
    values, reward, discounts = torch.randn(2, 5, 2, 3), torch.randn(2, 5), 0.9 * (torch.rand(2, 5) > 0.3)
    trace = 0.7 * (torch.rand(2, 4) > 0.3)
    got = double_q_targets(reward, discounts, values, values, sum_of_values, trace)
    following = values.max(-1).values.sum(-1)
    for world in range(2):
        wanted = None
        for step in reversed(range(5)):
            weight = 0.0 if wanted is None else float(trace[world, step])
            after = (1 - weight) * following[world, step] + weight * (wanted or 0.0)
            wanted = float(reward[world, step] + discounts[world, step] * after)
            assert float(got[world, step]) == pytest.approx(wanted, abs=1e-5)
    one_step = double_q_targets(reward, discounts, values, values, sum_of_values)
    torch.testing.assert_close(one_step, reward + discounts * following)


def test_targets_carry_no_gradient():
    values = torch.randn(1, 2, 2, 3, requires_grad=True)
    assert not double_q_targets(torch.zeros(1, 2), torch.ones(1, 2), values, values, sum_of_values).requires_grad
