"""The memory of TBONE teams and central policies: step by step as all at once, and nothing of an earlier episode."""

import pytest
import torch

from tests.rl_models.networks.small_tbone import central, run, team, views

TEAMS = {
    "marginal": lambda: team(2, 1),
    "sync": lambda: team(2, 3),
    "central": lambda: central(2),
    "central_of_three": lambda: central(3),
}


@pytest.mark.parametrize("name", TEAMS)
def test_steps_one_at_a_time_equal_all_steps_at_once_with_episodes_beginning_anywhere(name):
    policy = TEAMS[name]()
    obs = views(policy.num_agents, time=6)
    is_first = torch.zeros(3, 6, dtype=torch.bool)
    is_first[0, 3] = is_first[1, 0] = is_first[1, 5] = True
    whole = run(policy, obs, is_first)
    state, values = policy.initial_state(3), []
    for step in range(6):
        output = run(policy, {"view": obs["view"][:, step : step + 1]}, is_first[:, step : step + 1], state)
        state = output.state
        values.append(output.values)
    torch.testing.assert_close(torch.cat(values, 1), whole.values, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state, whole.state, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", TEAMS)
def test_an_episode_remembers_nothing_of_the_one_before_it(name):
    policy = TEAMS[name]()
    obs = views(policy.num_agents, time=5)
    is_first = torch.zeros(3, 5, dtype=torch.bool)
    is_first[:, 2] = True
    changed = {"view": obs["view"].clone()}
    changed["view"][:, :2] = 1 - changed["view"][:, :2]
    one, other = run(policy, obs, is_first).values, run(policy, changed, is_first).values
    torch.testing.assert_close(one[:, 2:], other[:, 2:])
    remembers = run(policy, obs).values, run(policy, changed).values
    assert (remembers[0][:, 2:] != remembers[1][:, 2:]).all()
