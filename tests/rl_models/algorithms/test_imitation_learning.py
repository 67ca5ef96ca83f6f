"""Learning from an expert alone: it finds the expert's joint actions, and rewards have no effect."""

import pytest
import torch

from rl_models.algorithms.imitation_learning import ImitationLearning
from rl_models.losses.imitation import Imitation
from rl_models.schedule import Progress, Schedule
from rl_models.teams.constant_team import constant_team

OBJECTIVE = ImitationLearning(extra_losses=(Imitation(Schedule.constant(1.0)),))


def batch_of(reward):
    expert = torch.tensor([[2, 0], [2, 0]]).repeat(2, 1, 1)
    worlds, steps = expert.shape[:2]
    rewards = torch.full((worlds, steps, 2), float(reward))
    is_first = torch.zeros(worlds, steps + 1, dtype=torch.bool)
    expert = torch.cat([expert, expert[:, -1:]], 1)
    return {"obs/expert": expert, "reward": rewards, "is_first": is_first, "actions": torch.zeros(worlds, steps, 2)}


def trained(components, reward):
    team = constant_team(components, 2, 4)
    optimiser = torch.optim.Adam(team.parameters(), lr=0.1)
    batch = OBJECTIVE.prepare(batch_of(reward))
    assert batch["obs/expert"].shape[1] == batch["reward"].shape[1]
    for _ in range(60):
        output = team({}, {}, batch["is_first"])
        loss, statistics = OBJECTIVE.loss(output, batch, Progress())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return team, float(statistics["loss/imitation"])


@pytest.mark.parametrize("components", [1, 2])
def test_a_team_learns_the_joint_actions_of_the_expert(components):
    assert trained(components, 0.0)[1] < 0.1


def test_rewards_and_values_have_no_effect():
    (team, loss), (other, same) = trained(2, 0.0), trained(2, 5.0)
    assert loss == same
    torch.testing.assert_close(team.state_dict(), other.state_dict())
    fresh = constant_team(2, 2, 4).state_dict()
    for name, weights in team.state_dict().items():
        if name.startswith("value_head"):
            torch.testing.assert_close(weights, fresh[name])
