"""Sprites are followed from moment to moment, and how they move is told by their distance from the agent."""

import pytest
import torch

from rl_models.layers.tracks import FARTHER, NEARER, SAME, movements, tracks

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
