"""GAE and V-trace against the sums in the papers, computed one step at a time without recursion."""

import numpy as np
import pytest
import torch

from rl_models.losses.policy_gradient import Steps, following_values, gae, vtrace

WORLDS, TIME, AGENTS, GAMMA = 6, 9, 2, 0.9


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
    """Steps in the form in which the objectives build them."""
    tensors = {name: torch.from_numpy(value) for name, value in data.items()}
    truncated = tensors["truncated"][..., None].expand(WORLDS, TIME, AGENTS)
    following = following_values(tensors["values"], tensors["last_values"], tensors["final_values"], truncated)
    running = ~tensors["terminated"][..., None]
    goes_on = ~(tensors["terminated"] | tensors["truncated"])[..., None].expand(WORLDS, TIME, AGENTS)
    return Steps(
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
    """One-step temporal-difference error."""
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
    got = gae(steps, tensors["values"], lambda_)
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
    targets, advantages = vtrace(steps, tensors["values"], tensors["log_ratio"], clip_rho, clip_c)
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
    assert not any(part.requires_grad for part in vtrace(steps, values, ratio))
