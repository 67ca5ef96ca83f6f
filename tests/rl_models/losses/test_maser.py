"""MASER's sub-goals, rewards and losses: invariants, gradients and numbers worked out by hand."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.algorithms import role_objectives
from rl_models.algorithms.qmix import Qmix
from rl_models.algorithms.replay import Replay
from rl_models.algorithms.role_objectives import role_objective
from rl_models.batch import forward, to_batch
from rl_models.losses.maser import (
    actionable_distance,
    divergence_from_uniform,
    find_subgoals,
    maser_losses,
    proxy_reward,
    subgoal_steps,
)
from rl_models.schedule import Progress
from tests.rl_models.algorithms.role_worlds import SMALL, Corridor, played


def learned_from(form="paper", **changes):
    """A batch of 6 worlds and 12 steps with episodes of 5 steps, its policy and its settings."""
    maser = dataclasses.replace(SMALL.maser, form=form, **changes)
    config = dataclasses.replace(SMALL, maser=maser)
    one = played(Corridor(6, cells=3, max_episode_steps=5), "maser", 12, config)
    replay = Replay(6)
    replay.add(Qmix().prepare(to_batch(one.collect())))
    with torch.no_grad():
        for name, weight in one.policy.named_parameters():
            if name.startswith("target_"):
                weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(len(name))))
    return next(replay.draws(1, 6, seed=0)), one.policy, config


def loss_of(batch, policy, config):
    return role_objective(config, "maser", Qmix()).loss(forward(policy, batch), batch, Progress())


def test_divergence_from_uniform_is_the_number_by_hand():
    assert float(divergence_from_uniform(torch.tensor([1.0, 0.0, 0.0]))) == pytest.approx(0.1233, abs=1e-4)
    assert float(divergence_from_uniform(torch.tensor([1.0, 0.0, 0.0, -torch.inf]))) == pytest.approx(0.1233, abs=1e-4)


def test_actionable_distance_is_one_minus_the_cosine():
    values = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    others = torch.tensor([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    torch.testing.assert_close(actionable_distance(values, others), torch.tensor([0.0, 1.0, 2.0]))


def test_a_subgoal_is_the_best_observation_of_the_same_episode():
    own = torch.tensor([[[3.0, 0.0], [1.0, 1.0], [2.0, 5.0], [7.0, 0.0]]])
    team = torch.tensor([[0.0, 8.0, 0.0, 6.0]])
    is_first = torch.tensor([[True, False, True, False]])
    assert subgoal_steps(own, team, is_first, 1.0)[0].tolist() == [[0, 1], [0, 1], [3, 2], [3, 2]]
    assert subgoal_steps(own, team, is_first, 0.0)[0].tolist() == [[1, 1], [1, 1], [3, 3], [3, 3]]


def test_distance_costs_reward_and_is_0_at_the_subgoal():
    batch, policy, config = learned_from()
    subgoals = find_subgoals(forward(policy, batch), batch, config.maser)
    assert (subgoals.intrinsic <= 0).all() and (subgoals.intrinsic < 0).any()
    at_goal = subgoals.intrinsic.gather(1, subgoals.step)
    assert (at_goal == 0).all()
    episode = batch["is_first"][:, :-1].cumsum(1)[..., None].expand_as(subgoals.step)
    assert episode.gather(1, subgoals.step).equal(episode)


def test_without_weights_the_loss_is_that_of_qmix_to_the_bit():
    none = dict.fromkeys(("intrinsic_coef", "individual_coef", "exploration_coef", "distance_coef"), 0.0)
    batch, policy, config = learned_from(**none)
    assert loss_of(batch, policy, config)[0].equal(Qmix().loss(forward(policy, batch), batch, Progress())[0])


@pytest.mark.parametrize("form", ["paper", "released"])
def test_subgoals_are_sought_once_and_the_loss_is_the_sum_of_its_parts_to_the_bit(form, monkeypatch):
    batch, policy, config = learned_from(form)
    sought = []
    monkeypatch.setattr(role_objectives, "find_subgoals", lambda *given: sought.append(given) or find_subgoals(*given))
    loss, statistics = loss_of(batch, policy, config)
    assert len(sought) == 1
    output = forward(policy, batch)
    reward = proxy_reward(batch, find_subgoals(output, batch, config.maser), config.maser)
    td = Qmix().loss_with_reward(output, batch, Progress(), reward)[0]
    added, logged = maser_losses(output, batch, find_subgoals(output, batch, config.maser), config.maser, Qmix().gamma)
    assert loss.equal(td + added)
    assert all(value.equal(statistics[name]) for name, value in logged.items())


def gradients(batch, policy, config, **changes):
    policy.zero_grad()
    maser = dataclasses.replace(config.maser, **changes)
    loss_of(batch, policy, dataclasses.replace(config, maser=maser))[0].backward()
    return {name: weight.grad.clone() for name, weight in policy.named_parameters() if weight.grad is not None}


def test_the_representation_learns_from_distances_alone_and_nothing_else_does():
    batch, policy, config = learned_from(distance_coef=0.0)
    without, learned = gradients(batch, policy, config), gradients(batch, policy, config, distance_coef=1.0)
    for name, gradient in learned.items():
        if name.startswith("representation."):
            assert gradient.abs().sum() > 0
            assert not without[name].any()
        else:
            torch.testing.assert_close(gradient, without[name])


def test_the_released_form_trains_neither_the_representation_nor_exploration():
    batch, policy, config = learned_from("released")
    assert not any(weight.requires_grad for weight in policy.representation.parameters())
    plain = gradients(batch, policy, config)
    assert not any(name.startswith("representation.") for name in plain)
    explores = gradients(batch, policy, config, exploration_coef=1.0, distance_coef=1.0)
    torch.testing.assert_close(explores, plain)


def test_the_paper_form_explores_after_the_subgoal():
    batch, policy, config = learned_from(exploration_coef=0.0)
    plain, changed = gradients(batch, policy, config), gradients(batch, policy, config, exploration_coef=1.0)
    assert not changed["network.output.weight"].equal(plain["network.output.weight"])


def test_what_is_replayed_is_not_changed_by_an_update():
    batch, policy, config = learned_from()
    before = {key: value.clone() for key, value in batch.items()}
    loss_of(batch, policy, config)[0].backward()
    assert all(value.equal(before[key]) for key, value in batch.items())


def test_an_individual_error_is_that_of_a_loop_over_agents_and_steps():
    batch, policy, config = learned_from("released")
    output = forward(policy, batch)
    subgoals = find_subgoals(output, batch, config.maser)
    online, reward = output.extras["q/online"].detach(), proxy_reward(batch, subgoals, config.maser)
    errors = []
    for world, step in np.ndindex(6, 12):
        following = subgoals.own[world, step + 1]
        shares = following.softmax(0)
        for agent in range(2):
            paid = shares[agent] * reward[world, step] + 0.03 * subgoals.intrinsic[world, step, agent]
            ends = bool(batch["terminated"][world, step])
            wanted = paid + (0.0 if ends else 0.99 * following[agent])
            errors.append(float(online[world, step, agent, batch["actions"][world, step, agent]] - wanted) ** 2)
    statistics = loss_of(batch, policy, config)[1]
    assert float(statistics["loss/individual"]) == pytest.approx(2 * np.mean(errors), rel=1e-4)
