"""The memory of TBONE teams and central policies: step by step as all at once, and nothing of an earlier episode."""

import pytest
import torch

from rl_models.networks.network_config import VisualConfig
from rl_models.teams.tbone_team import VisualTeamConfig, visual_central_team, visual_team
from tests.rl_models.networks.small_tbone import central, run, team, views

SIGHT = VisualTeamConfig(VisualConfig(channels=(4, 4, 4, 8), hidden_size=16, team_features=12), 3)
TEAMS = {
    "marginal": lambda: team(2, 1),
    "sync": lambda: team(2, 3),
    "central": lambda: central(2),
    "central_of_three": lambda: central(3),
    "sync_by_frames": lambda: visual_team(SIGHT, 2, (42, 42, 3), 5),
    "central_by_frames": lambda: visual_central_team(SIGHT, 2, (42, 42, 3), 5),
}


def seen(policy, time):
    """Views or frames of three worlds."""
    if "frame" not in policy.network.observation_keys:
        return views(policy.num_agents, time=time)
    shape = (3, time, policy.num_agents, 42, 42, 3)
    return {"frame": torch.randint(256, shape, generator=torch.Generator().manual_seed(0), dtype=torch.uint8)}


@pytest.mark.parametrize("name", TEAMS)
def test_steps_one_at_a_time_equal_all_steps_at_once_with_episodes_beginning_anywhere(name):
    policy = TEAMS[name]()
    ((key, shown),) = seen(policy, 6).items()
    is_first = torch.zeros(3, 6, dtype=torch.bool)
    is_first[0, 3] = is_first[1, 0] = is_first[1, 5] = True
    whole = run(policy, {key: shown}, is_first)
    state, values = policy.initial_state(3), []
    for step in range(6):
        output = run(policy, {key: shown[:, step : step + 1]}, is_first[:, step : step + 1], state)
        state = output.state
        values.append(output.values)
    torch.testing.assert_close(torch.cat(values, 1), whole.values, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state, whole.state, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", TEAMS)
def test_an_episode_remembers_nothing_of_the_one_before_it(name):
    policy = TEAMS[name]()
    ((key, shown),) = seen(policy, 5).items()
    is_first = torch.zeros(3, 5, dtype=torch.bool)
    is_first[:, 2] = True
    changed = shown.clone()
    changed[:, :2] = 1 - changed[:, :2]
    one, other = (run(policy, {key: each}, is_first).values for each in (shown, changed))
    torch.testing.assert_close(one[:, 2:], other[:, 2:])
    remembers = [run(policy, {key: each}).values for each in (shown, changed)]
    assert (remembers[0][:, 2:] != remembers[1][:, 2:]).all()
