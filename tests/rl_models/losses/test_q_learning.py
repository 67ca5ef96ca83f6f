"""Double Q-learning of a joint value against hand numbers and against plain loops."""

import itertools

import pytest
import torch

from rl_models.layers.monotonic_mixer import MonotonicMixer, sum_of_values
from rl_models.losses.q_learning import chosen_values, double_q_targets, squared_td_error

NEVER = -torch.inf


def test_the_online_values_choose_and_the_target_values_say_what_it_is_worth():
    online = torch.tensor([[[[1.0, 2.0], [5.0, 3.0]]]])  # they choose 1 and 0
    target = torch.tensor([[[[10.0, 20.0], [100.0, 200.0]]]])
    reward, discounts = torch.tensor([[0.5]]), torch.tensor([[0.9]])
    got = double_q_targets(reward, discounts, online, target, sum_of_values)
    assert got.item() == pytest.approx(0.5 + 0.9 * (20 + 100))


def test_a_game_that_is_over_is_worth_its_last_reward_alone():
    values = torch.full((1, 1, 2, 3), 7.0)
    got = double_q_targets(torch.tensor([[0.5]]), torch.zeros(1, 1), values, values, sum_of_values)
    assert got.item() == 0.5


def test_an_action_that_is_not_legal_is_never_the_best_one():
    online = torch.tensor([[[[NEVER, -2.0], [NEVER, -3.0]]]])
    target = torch.tensor([[[[NEVER, 1.0], [NEVER, 2.0]]]])
    got = double_q_targets(torch.zeros(1, 1), torch.ones(1, 1), online, target, sum_of_values)
    assert got.item() == 3.0


def test_targets_are_those_of_a_loop_over_all_joint_actions():
    """The loop looks for the best of all joint actions under the online mixer; agents' own best ones are its parts."""
    torch.manual_seed(0)
    worlds, steps, agents, actions, features = 3, 4, 3, 4, 5
    online, target = torch.randn(2, worlds, steps, agents, actions)
    state = torch.randn(worlds, steps, features)
    online_mixer, target_mixer = (MonotonicMixer(features, agents, hidden_size=6) for _ in range(2))
    reward, discounts = torch.randn(worlds, steps), torch.rand(worlds, steps)
    got = double_q_targets(reward, discounts, online, target, target_mixer(state))
    for world, step in itertools.product(range(worlds), range(steps)):
        mix, worth = online_mixer(state[world, step]), target_mixer(state[world, step])
        joint = [torch.tensor(choice) for choice in itertools.product(range(actions), repeat=agents)]
        own = torch.arange(agents)
        best = max(joint, key=lambda choice: float(mix(online[world, step][own, choice]).detach()))
        following = float(worth(target[world, step][own, best]).detach())
        wanted = float(reward[world, step]) + float(discounts[world, step]) * following
        assert float(got[world, step]) == pytest.approx(wanted, abs=1e-5)


def test_targets_that_look_ahead_are_those_of_the_recursion():
    torch.manual_seed(1)
    values, reward, discounts = torch.randn(2, 5, 2, 3), torch.randn(2, 5), 0.9 * (torch.rand(2, 5) > 0.3)
    trace = 0.7 * (torch.rand(2, 4) > 0.3)
    got = double_q_targets(reward, discounts, values, values, sum_of_values, trace)
    following = values.max(-1).values.sum(-1)
    for world in range(2):
        wanted = None
        for step in reversed(range(5)):
            weight = 0.0 if wanted is None else float(trace[world, step])
            after = (1 - weight) * following[world, step] + weight * (wanted or 0.0)
            wanted = float(reward[world, step] + discounts[world, step] * after)
            assert float(got[world, step]) == pytest.approx(wanted, abs=1e-5)
    one_step = double_q_targets(reward, discounts, values, values, sum_of_values)
    torch.testing.assert_close(one_step, reward + discounts * following)


def test_targets_carry_no_gradient():
    values = torch.randn(1, 2, 2, 3, requires_grad=True)
    assert not double_q_targets(torch.zeros(1, 2), torch.ones(1, 2), values, values, sum_of_values).requires_grad


def test_the_values_of_the_actions_taken():
    values = torch.arange(12.0).view(1, 2, 2, 3)
    actions = torch.tensor([[[0, 2], [1, 1]]])
    assert chosen_values(values, actions).tolist() == [[[0.0, 5.0], [7.0, 10.0]]]


def test_the_error_is_squared_averaged_and_zero_where_a_step_does_not_count():
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    counts = torch.tensor([[True, True], [True, False]])
    loss = squared_td_error(values, torch.tensor([[0.0, 4.0], [3.0, 100.0]]), counts)
    assert loss.item() == (1 + 4 + 0 + 0) / 4
    loss.backward()
    assert values.grad.tolist() == [[0.5, -1.0], [0.0, 0.0]]
