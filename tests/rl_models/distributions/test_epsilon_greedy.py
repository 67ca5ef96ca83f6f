"""Epsilon-greedy policies: probabilities by hand, frequencies of samples, legal actions, greedy play at any epsilon."""

import pytest
import torch

from rl_models.heads.epsilon_greedy_head import BestValueHead, EpsilonGreedy, EpsilonGreedyHead
from rl_models.policy import Features

VALUES = torch.tensor([[[1.0, 3.0, 2.0], [-torch.inf, 0.5, 0.1]]])  # [1, N, A]; the second agent's first is not legal


def play(epsilon, values=VALUES):
    return EpsilonGreedy.from_values(values, torch.tensor([epsilon]))


def test_the_best_action_has_one_minus_epsilon_and_all_legal_ones_share_epsilon():
    marginals = play(0.3).marginals()[0]
    torch.testing.assert_close(marginals, torch.tensor([[0.1, 0.8, 0.1], [0.0, 0.85, 0.15]]))


def test_what_is_not_legal_is_never_drawn_even_when_all_is_chance():
    policy = play(1.0, VALUES.expand(20_000, -1, -1))
    actions, _ = policy.sample(torch.rand(20_000, 3, generator=torch.Generator().manual_seed(0)))
    shares = torch.stack([(actions == action).float().mean(0) for action in range(3)], -1)
    torch.testing.assert_close(shares, torch.tensor([[1 / 3] * 3, [0.0, 0.5, 0.5]]), atol=0.02, rtol=0)
    assert shares[1, 0] == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_greedy_play_takes_the_largest_value_whatever_epsilon_is(epsilon):
    assert play(epsilon).mode()[0].tolist() == [[1, 1]]


def test_its_numbers_are_finite_so_that_a_rollout_can_record_them():
    policy = play(0.0)
    actions, component = policy.sample(torch.full((1, 3), 0.5))
    assert actions.tolist() == [[1, 1]]
    for number in (policy.log_prob(actions), policy.component_log_prob(actions, component), policy.marginal_entropy()):
        torch.testing.assert_close(number, torch.zeros_like(number))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_all_actions_count_as_legal_for_an_agent_that_has_no_legal_one(epsilon):
    values = torch.tensor([[[[1.0, 3.0, 2.0], [4.0, 0.5, 0.1]]]])
    features = Features(values, {}, legal=torch.tensor([[[[False, False, False], [False, True, True]]]]))
    shares = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5]])
    wanted = torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]) * (1 - epsilon) + epsilon * shares
    head = EpsilonGreedyHead(3)
    head.epsilon.fill_(epsilon)
    torch.testing.assert_close(head(features).marginals()[0, 0], wanted)
    assert BestValueHead()(features).tolist() == [[[3.0, 0.5]]]
