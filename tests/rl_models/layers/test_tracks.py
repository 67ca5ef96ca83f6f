"""Sprites are followed from moment to moment, and how they move is told by their distance from the agent."""

import torch

from rl_models.layers.tracks import FARTHER, NEARER, SAME, movements, tracks

SIDE = 10


def sprites(moments):
    """Symbols and cells of one frame; a moment is a list of (symbol, row, column), and sprites that are gone are 0."""
    symbols, rows, columns = torch.tensor(moments)[None].unbind(-1)
    return symbols, rows * SIDE + columns


def follow(*moments):
    """Tracks of one frame."""
    return tracks(*sprites(moments), SIDE)[0].tolist()


def test_sprites_are_followed_through_other_orders():
    assert follow([(7, 3, 3), (5, 1, 1)], [(5, 1, 2), (7, 3, 3)], [(7, 4, 3), (5, 2, 2)]) == [[0, 1], [1, 0], [0, 1]]


def test_of_two_sprites_with_one_symbol_the_nearer_is_matched():
    assert follow([(5, 1, 1), (5, 6, 6)], [(5, 5, 6), (5, 1, 2)]) == [[1, 0], [0, 1]]


def test_sprites_that_change_places_are_matched_by_symbol():
    assert follow([(7, 3, 3), (5, 3, 4)], [(5, 3, 3), (7, 3, 4)]) == [[1, 0], [0, 1]]


def test_each_sprite_is_matched_with_at_most_one_other():
    assert follow([(5, 4, 4), (5, 4, 6)], [(5, 4, 5), (5, 0, 6)]) == [[0, 1], [0, 1]]


def test_sprites_that_are_absent_now_or_were_absent_have_no_match():
    assert follow([(5, 1, 1), (7, 2, 2)], [(5, 1, 1), (0, 0, 0)]) == [[0, 2], [0, 2]]
    assert follow([(5, 1, 1), (0, 0, 0)], [(5, 1, 1), (0, 0, 0)]) == [[0, 2], [0, 2]]
    assert follow([(5, 1, 1)], [(0, 0, 0)], [(5, 1, 1)]) == [[1], [1], [0]]


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


def test_a_sprite_that_is_gone_has_no_movement():
    assert moved([(4, 4), (4, 4)], [(5, 1, 1), (7, 2, 2)], [(5, 1, 1), (0, 0, 0)]) == [[SAME, 0], [SAME, 0]]


def test_a_sprite_that_comes_back_has_not_moved():
    assert moved([(4, 4)] * 3, [(5, 1, 1)], [(0, 0, 0)], [(5, 2, 2)]) == [[0], [0], [SAME]]
