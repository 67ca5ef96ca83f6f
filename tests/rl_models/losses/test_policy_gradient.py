"""Policy losses, value losses and masks against hand numbers; GAE and V-trace against the sums in the papers."""

import math

import numpy as np
import pytest
import torch

from rl_models.losses import policy_gradient as pg

WORLDS, TIME, AGENTS, GAMMA = 6, 9, 2, 0.9


@pytest.mark.parametrize(
    ("loss", "inputs", "wanted", "gradient"),
    [
        (pg.policy_gradient_loss, ([[-1.0], [-2.0]], [[3.0], [-0.5]]), (-3.0 + 1.0) / -2, [[-1.5], [0.25]]),
        (pg.value_loss, ([[1.0], [3.0]], [[2.0], [1.0]]), (1.0 + 4.0) / 2, [[-1.0], [2.0]]),
    ],
)
def test_losses_and_gradients_are_the_numbers_by_hand_and_advantages_and_targets_are_constants(
    loss, inputs, wanted, gradient
):
    learned, constant = (torch.tensor(one, requires_grad=True) for one in inputs)
    found = loss(learned, constant)
    found.backward()
    assert found.item() == pytest.approx(wanted)
    torch.testing.assert_close(learned.grad, torch.tensor(gradient))
    assert constant.grad is None


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


def story(seed=0, has_ends=True):
    """Fragments with terminations, truncations, both next to each other and at the last step, and durations 1 to 3."""
    random = np.random.default_rng(seed)
    shape = (WORLDS, TIME, AGENTS)
    ended = random.random((WORLDS, TIME)) < (0.3 if has_ends else 0.0)
    terminated = ended & (random.random((WORLDS, TIME)) < 0.5)
    return {
        "reward": random.normal(size=shape),
        "values": random.normal(size=shape),
        "last_values": random.normal(size=(WORLDS, AGENTS)),
        "final_values": random.normal(size=shape),
        "terminated": terminated,
        "truncated": ended & ~terminated,
        "duration": random.integers(1, 4, size=shape),
        "log_ratio": 0.7 * random.normal(size=shape),
    }


def steps_of(data):
    tensors = {name: torch.from_numpy(value) for name, value in data.items()}
    truncated = tensors["truncated"][..., None].expand(WORLDS, TIME, AGENTS)
    following = pg.following_values(tensors["values"], tensors["last_values"], tensors["final_values"], truncated)
    running = ~tensors["terminated"][..., None]
    goes_on = ~(tensors["terminated"] | tensors["truncated"])[..., None].expand(WORLDS, TIME, AGENTS)
    return pg.Steps(
        tensors["reward"], GAMMA ** tensors["duration"].double() * running, goes_on.double(), following
    ), tensors


def next_value(data, world, time, agent):
    """V of the state that really follows: none after a termination, the final observation's after a truncation."""
    if data["terminated"][world, time]:
        return 0.0
    if data["truncated"][world, time]:
        return data["final_values"][world, time, agent]
    return data["last_values"][world, agent] if time + 1 == TIME else data["values"][world, time + 1, agent]


def error(data, world, time, agent):
    discount = GAMMA ** data["duration"][world, time, agent]
    bootstrap = discount * next_value(data, world, time, agent)
    return data["reward"][world, time, agent] + bootstrap - data["values"][world, time, agent]


def rest_of_episode(data, world, time):
    """This and the later steps of the same episode within the fragment."""
    for later in range(time, TIME):
        yield later
        if data["terminated"][world, later] or data["truncated"][world, later]:
            return


def every_step():
    return np.ndindex(WORLDS, TIME, AGENTS)


@pytest.mark.parametrize("lambda_", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_gae_is_the_discounted_sum_of_errors_within_the_episode(lambda_, seed):
    data = story(seed)
    steps, tensors = steps_of(data)
    got = pg.gae(steps, tensors["values"], lambda_)
    for world, time, agent in every_step():
        total, weight = 0.0, 1.0
        for later in rest_of_episode(data, world, time):
            total += weight * error(data, world, later, agent)
            weight *= lambda_ * GAMMA ** data["duration"][world, later, agent]
        np.testing.assert_allclose(got[world, time, agent], total, atol=1e-12)


@pytest.mark.parametrize(("clip_rho", "clip_c"), [(1.0, 1.0), (1.5, 0.8), (1e9, 1e9)])
def test_vtrace_targets_are_the_papers_sum(clip_rho, clip_c):
    """v_s = V(s) + sum_t gamma^(t-s) (prod c) rho_t delta_t; advantage rho_s (r_s + gamma v_(s+1) - V(s))."""
    data = story(2)
    steps, tensors = steps_of(data)
    targets, advantages = pg.vtrace(steps, tensors["values"], tensors["log_ratio"], clip_rho, clip_c)
    ratio = np.exp(data["log_ratio"])

    def target(world, time, agent):
        total, weight = data["values"][world, time, agent], 1.0
        for later in rest_of_episode(data, world, time):
            rho = min(clip_rho, ratio[world, later, agent])
            total += weight * rho * error(data, world, later, agent)
            weight *= GAMMA ** data["duration"][world, later, agent] * min(clip_c, ratio[world, later, agent])
        return total

    for world, time, agent in every_step():
        np.testing.assert_allclose(targets[world, time, agent], target(world, time, agent), atol=1e-10)
        ended = data["terminated"][world, time] or data["truncated"][world, time] or time + 1 == TIME
        after = next_value(data, world, time, agent) if ended else target(world, time + 1, agent)
        discount = GAMMA ** data["duration"][world, time, agent]
        wanted = data["reward"][world, time, agent] + discount * after - data["values"][world, time, agent]
        wanted *= min(clip_rho, ratio[world, time, agent])
        np.testing.assert_allclose(advantages[world, time, agent], wanted, atol=1e-10)


def test_estimates_are_constants_for_the_policy_and_the_values():
    steps, tensors = steps_of(story(4))
    values = tensors["values"].requires_grad_()
    ratio = tensors["log_ratio"].requires_grad_()
    assert not any(part.requires_grad for part in pg.vtrace(steps, values, ratio))
