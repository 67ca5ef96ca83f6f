"""Double Q-learning targets that look ahead; one step: `algorithms/test_qmix_with_leaving_agents.py`."""

import pytest
import torch

from rl_models.layers.monotonic_mixer import sum_of_values
from rl_models.losses.q_learning import double_q_values, td_targets


def test_targets_that_look_ahead_are_those_of_the_recursion():
    torch.manual_seed(1)
    following, reward, discounts = torch.randn(2, 5), torch.randn(2, 5), 0.9 * (torch.rand(2, 5) > 0.3)
    trace = 0.7 * (torch.rand(2, 4) > 0.3)
    got = td_targets(reward, discounts, following, trace)
    for world in range(2):
        wanted = None
        for step in reversed(range(5)):
            weight = 0.0 if wanted is None else float(trace[world, step])
            after = (1 - weight) * following[world, step] + weight * (wanted or 0.0)
            wanted = float(reward[world, step] + discounts[world, step] * after)
            assert float(got[world, step]) == pytest.approx(wanted, abs=1e-5)
    torch.testing.assert_close(td_targets(reward, discounts, following), reward + discounts * following)


def test_the_network_selects_the_actions_that_the_target_evaluates():
    online, target = torch.tensor([[[[1.0, 2.0], [5.0, -torch.inf]]]]), torch.tensor([[[[9.0, 3.0], [4.0, 8.0]]]])
    assert double_q_values(online, target, sum_of_values).tolist() == [[7.0]]


def test_targets_carry_no_gradient():
    assert not td_targets(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2, requires_grad=True)).requires_grad
