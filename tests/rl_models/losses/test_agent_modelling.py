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


def test_three_agents_are_those_of_a_slow_loop():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 3, 2, 5, generator=generator, dtype=torch.double)
    actions = torch.randint(5, (4, 3), generator=generator)
    error = modelling_loss(logits, actions)
    for step in range(4):
        for agent in range(3):
            for place, other in enumerate(((agent + 1) % 3, (agent + 2) % 3)):
                wanted = torch.nn.functional.cross_entropy(logits[step, agent, place], actions[step, other])
                torch.testing.assert_close(error[step, agent, place], wanted)
