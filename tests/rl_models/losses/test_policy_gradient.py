"""Policy losses, value losses and masks against hand numbers."""

import math

import pytest
import torch

from rl_models.losses import policy_gradient as pg


def test_the_policy_gradient_is_the_advantage_weighted_log_probability():
    log_prob = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    advantage = torch.tensor([[3.0], [-0.5]], requires_grad=True)
    loss = pg.policy_gradient_loss(log_prob, advantage)
    torch.testing.assert_close(loss.detach(), torch.tensor(-(-3.0 + 1.0) / 2))
    loss.backward()
    torch.testing.assert_close(log_prob.grad, torch.tensor([[-1.5], [0.25]]))
    assert advantage.grad is None


def test_the_value_error_is_the_mean_square_without_a_half():
    values = torch.tensor([[1.0], [3.0]], requires_grad=True)
    targets = torch.tensor([[2.0], [1.0]], requires_grad=True)
    loss = pg.value_loss(values, targets)
    torch.testing.assert_close(loss.detach(), torch.tensor((1.0 + 4.0) / 2))
    loss.backward()
    torch.testing.assert_close(values.grad, torch.tensor([[-1.0], [2.0]]))
    assert targets.grad is None


def test_agents_are_summed_and_steps_at_which_anybody_counts_are_averaged():
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [50.0, 60.0]]])
    mask = torch.tensor([[[True, True], [True, False], [False, False]]])
    assert pg.team_mean(x, None).item() == pytest.approx((3 + 7 + 110) / 3)
    assert pg.team_mean(x, mask).item() == pytest.approx((3 + 3) / 2)


@pytest.mark.parametrize("loss", ["ppo", "policy_gradient", "value"])
def test_masked_entries_weigh_nothing_and_are_not_counted(loss):
    x, y = torch.tensor([[0.1, 50.0, -0.2]]), torch.tensor([[1.0, -70.0, 2.0]])
    mask = torch.tensor([[True, False, True]])
    kept = mask.nonzero()[:, 1]
    loss = {
        "ppo": lambda a, b, m=None: pg.ppo_surrogate(a, b, 0.2, m),
        "policy_gradient": pg.policy_gradient_loss,
        "value": pg.value_loss,
    }[loss]
    x.requires_grad_()
    got = loss(x, y, mask)
    torch.testing.assert_close(got, loss(x[:, kept], y[:, kept]))
    got.backward()
    assert x.grad[0, 1] == 0
    assert torch.isfinite(loss(x, y, torch.zeros_like(mask)))


def test_standardised_advantages_have_mean_zero_and_deviation_one_over_what_counts():
    x = torch.tensor([[1.0, 2.0, 3.0, 1000.0]])
    mask = torch.tensor([[True, True, True, False]])
    got = pg.standardise(x, mask)[0, :3]
    torch.testing.assert_close(got, torch.tensor([-1.0, 0.0, 1.0]) * math.sqrt(1.5))
    assert torch.equal(pg.standardise(torch.ones(1, 3), None), torch.zeros(1, 3))
