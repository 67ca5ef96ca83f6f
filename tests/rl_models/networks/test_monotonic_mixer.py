"""The mixing network of QMIX is monotonic in every agent's value."""

import torch

from rl_models.layers.monotonic_mixer import MonotonicMixer


def test_no_partial_derivative_is_negative_in_any_state():
    torch.manual_seed(0)
    mixer, values = MonotonicMixer(5, 3, 7), (4 * torch.randn(500, 3)).requires_grad_()
    mixer(3 * torch.randn(500, 5))(values).sum().backward()
    assert values.grad.min() >= 0
    assert values.grad.max() > 0
