"""Networks of QMIX: acting and learning agree, memory ends with the episode, and no document is read."""

import dataclasses

import numpy as np
import torch

from rl_models.batch import forward, to_batch
from rl_models.networks.qmix_policy import ONLINE, make_mixing
from rl_models.teams.qmix_team import QmixTeamConfig
from tests.rl_models.algorithms.small_qmix import CONFIG, ROOM, collector, objective, room_team, rooms
from tests.rl_models.training.small import second_fragment


def fragment_and_team(**arguments):
    """The second fragment and who played it."""
    one = collector(**arguments)
    return second_fragment(one), one.policy


def changed(batch, **values):
    return batch | {f"obs/{key}": value for key, value in values.items()}


def values_of(policy, batch):
    return forward(policy, batch).extras[f"q/{ONLINE}"]


def test_values_when_acting_are_those_of_the_first_update():
    fragment, policy = fragment_and_team()
    output = forward(policy, objective().prepare(to_batch(fragment)))
    np.testing.assert_allclose(fragment.steps["values"], output.values[:, :-1].detach(), atol=1e-5)
    log_prob = output.policy.first_steps(12).log_prob(torch.from_numpy(fragment.steps["actions"]))
    np.testing.assert_allclose(fragment.steps["log_prob"], log_prob, atol=1e-5)


def test_an_agent_remembers_within_an_episode_and_forgets_at_its_end():
    fragment, policy = fragment_and_team()
    batch = objective().prepare(to_batch(fragment))
    other = batch | {"state/hidden": batch["state/hidden"] + 1}
    is_new = torch.from_numpy(np.maximum.accumulate(fragment.is_first, axis=1))
    differs = (values_of(policy, batch) != values_of(policy, other)).any(-1).any(-1)
    assert not differs[is_new].any()
    assert differs[~is_new].all()


def test_agents_share_weights_and_differ_by_who_they_are():
    """With equal observations only the agent's own number can make a difference."""
    fragment, policy = fragment_and_team()
    batch = objective().prepare(to_batch(fragment))
    alike = {key: value.clone() for key, value in batch.items()}
    for key in (name for name in alike if name.startswith(("obs/", "state/"))):
        axis = 1 if key.startswith("state/") else 2
        alike[key] = alike[key].narrow(axis, 0, 1).expand_as(alike[key]).clone()
    values = values_of(policy, alike)
    assert (values[:, :, 0] != values[:, :, 1]).any(-1).all()
    with torch.no_grad():
        policy.network.input.weight[:, -2:] = 0
    values = values_of(policy, alike)
    torch.testing.assert_close(values[:, :, 0], values[:, :, 1])


def test_no_document_is_read_and_the_goal_is_a_symbol():
    fragment, policy = fragment_and_team()
    batch = to_batch(fragment)
    without = {key: value for key, value in batch.items() if not key.endswith("/document")}
    assert values_of(policy, without).equal(values_of(policy, batch))
    prepared = objective().prepare(batch)
    goal = prepared["obs/goal"]
    shuffled = goal[..., torch.tensor([5, 2, 0, 4, 1, 3])]
    torch.testing.assert_close(values_of(policy, changed(prepared, goal=shuffled)), values_of(policy, prepared))
    other = goal.roll(1, 0)
    assert (goal != other).any()
    assert not values_of(policy, changed(prepared, goal=other)).equal(values_of(policy, prepared))


def test_a_team_that_is_not_told_the_goal_needs_no_text_at_all():
    config = QmixTeamConfig(dataclasses.replace(ROOM, sees_goal=False), CONFIG.hidden_size, 5)
    fragment, policy = fragment_and_team(policy=room_team(config))
    assert config.texts == ()
    bare = objective(texts=()).prepare(to_batch(fragment))
    assert not {"obs/goal", "obs/document"} & set(bare)
    assert values_of(policy, bare).isfinite().any()


def test_agents_play_in_rooms_of_another_size():
    """Only the mixer belongs to rooms of one size, and nobody mixes while playing."""
    policy = room_team()
    place = rooms(3, size=8)
    tensors = {key: torch.from_numpy(value)[:, None] for key, value in place.reset(0).items()}
    tensors["texts/goal"] = torch.from_numpy(place.texts["goal"].table)
    with torch.no_grad():
        output = policy(tensors, policy.initial_state(3), torch.ones(3, 1, dtype=torch.bool))
    assert output.values.shape == (3, 1, 2)


def test_no_mixing_network_is_computed_without_gradients():
    fragment, policy = fragment_and_team()
    with torch.no_grad():
        assert forward(policy, to_batch(fragment)).extras == {}


def test_the_state_of_the_mixer_holds_the_whole_room():
    """Every cell, inventory and the goal change the mixture; the second agent's view and the document do not."""
    fragment, policy = fragment_and_team()
    batch = objective().prepare(to_batch(fragment))

    def joint(batch):
        return make_mixing(forward(policy, batch).extras, ONLINE, slice(None))(torch.ones(6, 13, 2))

    before = joint(batch)
    for row, column in {(k, k) for k in range(5)} | {(k, 4 - k) for k in range(5)}:
        grid = batch["obs/grid"].clone()
        grid[:, :, 0, row, column] = 40
        assert not joint(changed(batch, grid=grid)).equal(before)
    for agent in (0, 1):
        inventory = batch["obs/inventory"].clone()
        inventory[:, :, 0, agent] = 40
        assert not joint(changed(batch, inventory=inventory)).equal(before)
    assert not joint(changed(batch, goal=batch["obs/goal"].roll(1, 0))).equal(before)
    grid = batch["obs/grid"].clone()
    grid[:, :, 1] = 40
    assert joint(changed(batch, grid=grid)).equal(before)
