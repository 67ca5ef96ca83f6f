"""Attention supervision against hand numbers."""

import math

import pytest
import torch

from rl_models.losses.attention_supervision import attention_hits, attention_loss

WEIGHTS = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])


def test_the_error_is_minus_the_log_of_the_weight_on_the_answer():
    error = attention_loss(WEIGHTS, torch.tensor([1, 2]))
    torch.testing.assert_close(error, torch.tensor([math.log(4), -math.log(0.7)]), atol=1e-4, rtol=0)


def test_a_weight_of_zero_costs_much_but_not_everything():
    weights = torch.tensor([0.0, 1.0], requires_grad=True)
    error = attention_loss(weights, torch.tensor(0))
    error.backward()
    assert error.item() == pytest.approx(-math.log(1e-6)) and torch.isfinite(weights.grad).all()


def test_a_hit_is_most_attention_on_the_answer():
    assert attention_hits(WEIGHTS, torch.tensor([1, 2])).tolist() == [False, True]
