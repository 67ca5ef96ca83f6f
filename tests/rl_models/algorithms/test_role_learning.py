"""Games are learned: ROMA, LDSA and MASER with a role or a sub-goal, and by an expert alone, whatever rewards say."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_models.algorithms.imitation_learning import ImitationLearning
from rl_models.batch import forward, to_batch
from rl_models.losses.imitation import Imitation
from rl_models.networks.role_q_network import MEAN
from rl_models.schedule import Progress, Schedule
from rl_models.teams.constant_team import constant_team
from tests.rl_models.algorithms.role_worlds import METHODS, SMALL, Corridor, Kinds, greedy_return, train
from tests.rl_models.training.small import begun

FORMS = [(method, SMALL) for method in METHODS]
FORMS.append(("maser", dataclasses.replace(SMALL, maser=dataclasses.replace(SMALL.maser, form="released"))))
IDS = [*METHODS, "maser-released"]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "config"), FORMS, ids=IDS)
def test_each_method_solves_the_two_step_game(method, config):
    world, always = make("two_step_game-v0", 32), Schedule.constant(1.0)
    policy, _ = train(world, method, 2, 12_800, config, key="state", epsilon=always, buffer_size=512, gradient_steps=2)
    assert greedy_return(make("two_step_game-v0", 2), policy) == 8.0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "config"), FORMS, ids=IDS)
def test_each_method_finds_the_end_of_a_short_corridor(method, config):
    policy, statistics = train(Corridor(8), method, 12, 19_200, config, gradient_steps=2)
    assert greedy_return(Corridor(2), policy) == 1.0
    assert np.isfinite(float(statistics["loss/total"]))


@torch.enable_grad()
def roles_of_kinds(policy):
    """Mean roles in greedy steps of 64 games, [K, F], and the kinds of their agents, [K]."""
    one = begun(Kinds(64), policy, 6, needs_values=False, seed=7)
    batch = to_batch(one.collect())
    batch = {key: value for key, value in batch.items() if key != "obs/noise"}
    seen = forward(policy, batch).extras[MEAN][:, :-1].detach().flatten(0, 2)
    return seen, batch["obs/seen"][:, :-1, :, :2].argmax(-1).flatten()


@pytest.mark.slow
def test_roles_of_two_kinds_lie_apart():
    policy, _ = train(Kinds(8), "roma", 6, 24_000, gradient_steps=2)
    roles, kinds = roles_of_kinds(policy)
    means = [roles[kinds == kind].mean(0) for kind in (0, 1)]
    spread = np.mean([float(roles[kinds == kind].std(0).norm()) for kind in (0, 1)])
    assert float((means[0] - means[1]).norm()) > 0.5 * spread  # measured: 1.04
    assert greedy_return(Kinds(32), policy) > 1.5


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
