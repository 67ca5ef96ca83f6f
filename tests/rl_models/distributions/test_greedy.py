"""Greedy play: the mode of every kind of joint policy, in evaluation too; epsilon-greedy policies by hand."""

import itertools

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_models.heads.epsilon_greedy_head import BestValueHead, EpsilonGreedy, EpsilonGreedyHead
from rl_models.policy import Features
from rl_models.teams.constant_team import constant_team
from rl_models.training.evaluation import Evaluation
from tests.rl_models.distributions.test_joint_categorical import table
from tests.rl_models.distributions.test_mixture import mixture

AGENTS, ACTIONS = 2, 4


@pytest.mark.parametrize("policy", [mixture(2, 1, batch=(6,)), table(2, batch=(6,))[0]], ids=["marginals", "table"])
def test_no_joint_action_is_likelier_than_the_greedy_one(policy):
    actions, component = policy.mode()
    greedy = policy.log_prob(actions)
    for joint in itertools.product(range(ACTIONS), repeat=AGENTS):
        assert (policy.log_prob(torch.tensor(joint).expand(6, -1)) <= greedy).all()
    sampled = policy.sample(torch.rand(6, policy.num_uniforms))
    assert [(part.shape, part.dtype) for part in sampled] == [(part.shape, part.dtype) for part in (actions, component)]


def test_greedy_agents_of_a_mixture_agree_on_its_likeliest_component():
    policy = mixture(2, 3, batch=(6,))
    actions, component = policy.mode()
    assert torch.equal(component, policy.log_weights.argmax(-1))
    assert torch.equal(actions, policy.log_marginals[torch.arange(6), :, component].argmax(-1))


def test_a_greedy_evaluation_plays_the_same_action_everywhere_and_a_sampling_one_does_not():
    policy = constant_team(1, 2, 3, seed=4)
    seen = {}
    for is_greedy in (True, False):
        world = make("matrix_game-v0", 200)
        evaluation = Evaluation(world, policy, is_greedy=is_greedy)
        played, step = [], world.step
        world.step = lambda actions, step=step, played=played: (played.append(actions), step(actions))[1]
        evaluation.run(seed=0)
        seen[is_greedy] = np.unique(np.concatenate(played), axis=0)
    assert len(seen[True]) == 1
    assert len(seen[False]) > 1
    wanted = policy({}, {}, torch.zeros(1, 1, dtype=torch.bool)).policy.mode()[0]
    np.testing.assert_array_equal(seen[True][0], wanted[0, 0].numpy())


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
