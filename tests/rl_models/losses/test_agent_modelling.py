"""Agent modelling is the cross-entropy of each agent's prediction of the others' actions."""

import math

import pytest
import torch

from rl_models.losses.division import modelling_hits, modelling_loss, values_of_others


def test_others_come_in_the_order_of_an_observation_oneself_left_out():
    assert values_of_others(torch.tensor([10, 11, 12])).tolist() == [[11, 12], [12, 10], [10, 11]]
    assert values_of_others(torch.tensor([[3, 4]])).tolist() == [[[4], [3]]]


def test_two_agents_by_hand():
    """Agent 0 gives probability 3/4 to what agent 1 did, agent 1 gives 1/4 to what agent 0 did."""
    logits = torch.tensor([[[0.0, math.log(3)]], [[math.log(3), 0.0]]])
    actions = torch.tensor([1, 1])
    error = modelling_loss(logits, actions)
    assert error.flatten().tolist() == pytest.approx([-math.log(3 / 4), -math.log(1 / 4)])
    assert modelling_hits(logits, actions).flatten().tolist() == [True, False]
