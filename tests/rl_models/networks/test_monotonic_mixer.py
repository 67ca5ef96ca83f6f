"""The mixing network of QMIX against hand numbers; it is monotonic in every agent's value."""

import math

import pytest
import torch

from rl_models.layers.monotonic_mixer import Mixing, MonotonicMixer

STATE, AGENTS, HIDDEN = 5, 3, 7


def mixer():
    torch.manual_seed(0)
    return MonotonicMixer(STATE, AGENTS, HIDDEN)


def test_hand_numbers():
    """Two agents, two hidden units, one on either side of ELU's bend."""
    mixing = Mixing(
        first=torch.tensor([[1.0, 2.0], [3.0, 0.5]]),
        first_bias=torch.tensor([-1.0, -4.0]),
        second=torch.tensor([2.0, 3.0]),
        second_bias=torch.tensor(0.25),
    )
    above = 1.0 * 1 + 2.0 * 3 - 1.0
    below = 1.0 * 2 + 2.0 * 0.5 - 4.0
    wanted = 2.0 * above + 3.0 * (math.exp(below) - 1) + 0.25
    assert mixing(torch.tensor([1.0, 2.0])).item() == pytest.approx(wanted)


def test_weights_are_the_absolute_outputs_of_the_hypernetworks_and_biases_their_outputs():
    one, state = mixer(), torch.randn(4, STATE)
    mixing = one(state)
    torch.testing.assert_close(mixing.first.flatten(1), one.first(state).abs())
    torch.testing.assert_close(mixing.second, one.second(state).abs())
    assert (mixing.first >= 0).all() and (mixing.second >= 0).all()
    assert (one.first(state) < 0).any() and (one.second(state) < 0).any()
    assert (mixing.first_bias < 0).any() and (mixing.second_bias < 0).any()


def test_no_partial_derivative_is_negative_in_any_state():
    values = (4 * torch.randn(500, AGENTS)).requires_grad_()
    mixer()(3 * torch.randn(500, STATE))(values).sum().backward()
    assert values.grad.min() >= 0
    assert values.grad.max() > 0
