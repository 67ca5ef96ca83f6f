"""A GRU over a fragment is `nn.GRUCell` step by step, cleared at new episodes; sprites are followed over moments."""

import pytest
import torch
from torch import nn

from rl_models.layers.recurrence import run_gru
from rl_models.layers.tracks import FARTHER, NEARER, SAME, movements, tracks

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


SIDE = 10


def sprites(moments):
    """Symbols and cells of one frame; a moment is a list of (symbol, row, column), and sprites that are gone are 0."""
    symbols, rows, columns = torch.tensor(moments)[None].unbind(-1)
    return symbols, rows * SIDE + columns


FOLLOWED = {
    "in another order": ([[(7, 3, 3), (5, 1, 1)], [(5, 1, 2), (7, 3, 3)], [(7, 4, 3), (5, 2, 2)]], "01 10 01"),
    "the nearer of one symbol": ([[(5, 1, 1), (5, 6, 6)], [(5, 5, 6), (5, 1, 2)]], "10 01"),
    "by symbol where places change": ([[(7, 3, 3), (5, 3, 4)], [(5, 3, 3), (7, 3, 4)]], "10 01"),
    "at most one other": ([[(5, 4, 4), (5, 4, 6)], [(5, 4, 5), (5, 0, 6)]], "01 01"),
    "none that is absent now": ([[(5, 1, 1), (7, 2, 2)], [(5, 1, 1), (0, 0, 0)]], "02 02"),
    "none that is absent always": ([[(5, 1, 1), (0, 0, 0)], [(5, 1, 1), (0, 0, 0)]], "02 02"),
    "none that was absent": ([[(5, 1, 1)], [(0, 0, 0)], [(5, 1, 1)]], "1 1 0"),
}


@pytest.mark.parametrize(("moments", "wanted"), FOLLOWED.values(), ids=FOLLOWED)
def test_sprites_are_followed_by_symbol_and_distance(moments, wanted):
    followed = tracks(*sprites(moments), SIDE)[0].tolist()
    assert ["".join(map(str, moment)) for moment in followed] == wanted.split()


def moved(agent, *moments):
    """Movements in the newest moment of one frame; `agent` lists its places."""
    agents = torch.tensor([[row * SIDE + column for row, column in agent]])
    return movements(*sprites(moments), agents, SIDE)[0].tolist()


def test_two_sprites_with_one_symbol_differ_by_their_movements():
    moments = [(5, 1, 1), (5, 8, 8), (7, 5, 9)], [(5, 8, 8), (5, 2, 1), (7, 5, 9)]
    assert moved([(4, 4), (4, 4)], *moments) == [[NEARER, SAME, SAME], [SAME, NEARER, SAME]]


def test_a_movement_is_from_or_to_where_the_agent_was_before_it():
    # The agent comes nearer by itself; the sprite steps away from the place that it has left.
    assert moved([(4, 4), (4, 6)], [(5, 4, 8)], [(5, 4, 9)]) == [[FARTHER], [FARTHER]]
    assert moved([(4, 4), (4, 6)], [(5, 4, 8)], [(5, 4, 8)]) == [[SAME], [SAME]]


def test_one_step_in_several_moments_is_a_movement():
    assert moved([(4, 4)] * 4, *[[(5, 4, column)] for column in (9, 9, 8, 8)]) == [[NEARER]] * 4


def test_a_sprite_that_is_gone_has_no_movement_and_one_that_comes_back_has_not_moved():
    assert moved([(4, 4), (4, 4)], [(5, 1, 1), (7, 2, 2)], [(5, 1, 1), (0, 0, 0)]) == [[SAME, 0], [SAME, 0]]
    assert moved([(4, 4)] * 3, [(5, 1, 1)], [(0, 0, 0)], [(5, 2, 2)]) == [[0], [0], [SAME]]
