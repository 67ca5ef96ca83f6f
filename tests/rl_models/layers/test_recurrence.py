"""A GRU over the steps of a fragment is `nn.GRUCell` step by step, with the state cleared where episodes begin."""

import pytest
import torch
from torch import nn

from rl_models.layers.recurrence import run_gru

WORLDS, STEPS, AGENTS, INPUTS, HIDDEN = 3, 6, 2, 5, 4


def fragment(seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(WORLDS, STEPS, AGENTS, INPUTS, generator=generator, dtype=dtype)
    hidden = torch.randn(WORLDS, AGENTS, HIDDEN, generator=generator, dtype=dtype)
    is_first = torch.rand(WORLDS, STEPS, generator=generator) < 0.3
    is_first[0, 0], is_first[1, 3] = True, True
    return inputs.requires_grad_(), hidden.requires_grad_(), is_first


def cell(dtype=torch.float64):
    torch.manual_seed(1)
    return nn.GRUCell(INPUTS, HIDDEN, dtype=dtype)


def step_by_step(memory, inputs, hidden, is_first):
    states = []
    for step in range(inputs.shape[1]):
        hidden = torch.where(is_first[:, step, None, None], 0.0, hidden)
        hidden = memory(inputs[:, step].flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        states.append(hidden)
    return torch.stack(states, 1)


def gradients(states, memory, inputs, hidden):
    weights = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view_as(states)
    return torch.autograd.grad((weights * states).sum(), [inputs, hidden, *memory.parameters()])


def test_states_and_gradients_are_those_of_a_cell_that_is_stepped():
    memory, (inputs, hidden, is_first) = cell(), fragment()
    expected, found = step_by_step(memory, inputs, hidden, is_first), run_gru(memory, inputs, hidden, is_first)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(found, memory, inputs, hidden), gradients(expected, memory, inputs, hidden))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_it_learns_under_autocast(precision):
    memory, (inputs, hidden, is_first) = cell(torch.float32), fragment(dtype=torch.float32)
    expected = gradients(run_gru(memory, inputs, hidden, is_first), memory, inputs, hidden)
    with torch.autocast("cpu", precision, enabled=precision is not torch.float32):
        states = run_gru(memory, inputs, hidden, is_first)
    torch.testing.assert_close(gradients(states.float(), memory, inputs, hidden), expected, atol=0.05, rtol=0.05)
