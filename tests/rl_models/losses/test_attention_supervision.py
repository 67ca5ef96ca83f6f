"""Attention supervision against hand numbers; averaged and logged: `tune_experiments/rtfm`."""

import math

import torch

from rl_models.losses.attention_supervision import attention_loss


def test_the_error_is_minus_the_log_of_the_weight_on_the_answer_and_finite_for_a_weight_of_zero():
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0]], requires_grad=True)
    error = attention_loss(weights, torch.tensor([1, 2, 0]))
    wanted = torch.tensor([math.log(4), -math.log(0.7), -math.log(1e-6)])
    torch.testing.assert_close(error, wanted, atol=1e-4, rtol=0)
    error.sum().backward()
    assert weights.grad.isfinite().all()
