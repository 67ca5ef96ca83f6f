"""Minibatches in parts, minibatches of decisions, the divergence that ends an update, and a critic's own rate."""

import copy
import dataclasses

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings, make_optimiser, set_learning_rate
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import compute_share, count_steps, decision_mask, forward, select_worlds, to_batch
from rl_models.losses import policy_gradient as pg
from rl_models.schedule import Progress, Schedule
from rl_models.training.loop import Learner, parts
from rl_models.training.weight_transfer import trainable_names
from tests.rl_models.training.small import collector, cooks

SETTINGS = OptimiserSettings(learning_rate=Schedule.constant(3e-3), max_grad_norm=1e9)
DECISIONS = Ppo(joint_ratio=False, value_loss_at="decisions")
BY_DECISIONS = dataclasses.replace(DECISIONS, decision_minibatches=True)


def updated(one, fragment, objective):
    policy = copy.deepcopy(one.policy)
    learner = Learner(policy, objective, SETTINGS)
    return learner, learner.update([fragment])


def assert_close_gradients(one, other):
    found = ([weight.grad for weight in learner.policy.parameters()] for learner in (one, other))
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-3)


# ------------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize("make_one", [collector, cooks], ids=["all choose", "macro actions"])
@pytest.mark.parametrize(
    "objective",
    [
        Impala(),
        Impala(loss_reduction="sum"),
        Impala(loss_reduction="sum_steps"),
        Ppo(num_minibatches=1, clip_range=5e-3),
        Ppo(joint_ratio=False, num_minibatches=1, clip_range=5e-3),
        dataclasses.replace(DECISIONS, num_minibatches=1, clip_range=5e-3, entropy_coef=Schedule.constant(0.1)),
    ],
    ids=["impala", "summed impala", "impala summed over steps", "ppo", "ppo by agent", "ppo of decisions"],
)
def test_gradients_and_statistics_gathered_in_parts_are_those_of_the_whole(objective, make_one):
    """Six worlds in four parts, of two and of one, which hold different shares of the decisions."""
    one = make_one()
    fragment = one.collect()
    alone, whole = updated(one, fragment, objective)
    gathered, cut = updated(one, fragment, dataclasses.replace(objective, gradient_accumulation_steps=4))
    assert gathered.progress == alone.progress
    assert_close_gradients(gathered, alone)
    assert list(cut) == list(whole)
    for name, value in whole.items():
        assert float(cut[name]) == pytest.approx(float(value), rel=1e-3, abs=1e-6), name
    if isinstance(objective, Ppo):
        assert 0 < whole["policy/clip_fraction"] < 1, "the second epoch clips some ratios"


@pytest.mark.parametrize("count", [2, 3, 6])
def test_no_pass_holds_more_than_a_part(count):
    batch = Ppo().prepare(to_batch(collector().collect()))
    found = parts(Ppo(gradient_accumulation_steps=count), batch)
    assert [len(part["is_first"]) for part in found] == [6 // count] * count
    assert sum(compute_share(part, count_steps(batch)).steps for part in found) == pytest.approx(1.0)


@pytest.mark.parametrize("worlds", [2, 0])
def test_no_part_is_empty(worlds):
    batch = Ppo().prepare(to_batch(collector(num_worlds=2).collect()))
    found = parts(Ppo(gradient_accumulation_steps=3), select_worlds(batch, slice(worlds)))
    assert [len(part["is_first"]) for part in found] == [1] * worlds


# ------------------------------------------------------------------------------------------------- decisions


def test_minibatches_by_decisions_hold_every_step_at_which_anybody_chooses_once_an_epoch():
    one = cooks()
    batch = BY_DECISIONS.prepare(to_batch(one.collect()))
    batch["number"] = torch.arange(batch["terminated"].numel()).reshape(batch["terminated"].shape)
    wanted = batch["number"][decision_mask(batch).any(-1)].tolist()
    found = list(dataclasses.replace(BY_DECISIONS, num_epochs=2, num_minibatches=4).minibatches(batch, seed=0))
    epochs = [torch.cat([part["number"][:, 0] for part in found[first : first + 4]]).tolist() for first in (0, 4)]
    assert len(wanted) < batch["number"].numel()
    assert sorted(epochs[0]) == sorted(epochs[1]) == wanted and epochs[0] != epochs[1]
    assert all(decision_mask(part).any(-1).all() for part in found)


def test_one_minibatch_of_decisions_teaches_what_one_of_fragments_does():
    one = cooks()
    fragment = one.collect()
    whole, _ = updated(one, fragment, dataclasses.replace(DECISIONS, num_epochs=1, num_minibatches=1))
    decision_minibatches, _ = updated(one, fragment, dataclasses.replace(BY_DECISIONS, num_epochs=1, num_minibatches=1))
    assert whole.progress == decision_minibatches.progress
    assert_close_gradients(whole, decision_minibatches)


# ------------------------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("accumulate", [1, 3])
def test_the_update_ends_before_the_step_at_which_the_policy_has_moved_too_far(accumulate):
    one = collector()
    fragment = one.collect()
    plain = Ppo(num_epochs=4, num_minibatches=1, gradient_accumulation_steps=accumulate)
    free, told = updated(one, fragment, plain)
    assert free.progress.updates == 4
    limit = 0.5 * float(told["policy/approximate_kl"])
    held, told = updated(one, fragment, dataclasses.replace(plain, target_kl=limit))
    assert 0 < held.progress.updates < 4
    assert told["learner/stopped"] == 1 and told["policy/approximate_kl"] > limit
    alike, _ = updated(one, fragment, dataclasses.replace(plain, num_epochs=held.progress.updates))
    torch.testing.assert_close(held.policy.state_dict(), alike.policy.state_dict(), atol=0, rtol=0)


def test_the_next_update_begins_anew_after_one_that_ended_early():
    one = collector()
    learner = Learner(one.policy, Ppo(num_epochs=3, num_minibatches=2, target_kl=1e-5), SETTINGS)
    for updates in (1, 2):
        assert learner.update([one.collect()])["learner/stopped"] == 1
        assert learner.progress.updates == updates


def test_the_approximate_divergence_is_that_of_the_distributions():
    """Over draws of the old policy the mean of r - 1 - log r is KL(old || new)."""
    old, new = torch.tensor([0.7, 0.3]), torch.tensor([0.4, 0.6])
    draws = torch.tensor([0] * 7 + [1] * 3)
    got = pg.approximate_kl((new.log() - old.log())[draws])
    torch.testing.assert_close(got, (old * (old.log() - new.log())).sum())
    mask = torch.tensor([True, False])
    torch.testing.assert_close(pg.approximate_kl(torch.tensor([0.5, 9.0]), mask), torch.tensor(0.5).exp() - 1.5)


# ------------------------------------------------------------------------------------------------- values


def test_a_clipped_value_error_is_the_larger_one():
    values = torch.tensor([[1.0], [0.1], [0.5]], requires_grad=True)
    targets, recorded = torch.tensor([[1.2], [1.0], [-1.0]]), torch.zeros(3, 1)
    # held: .2, .1, .2; errors: max(.04, 1), max(.81, .81), max(2.25, 1.44)
    loss = pg.clipped_value_loss(values, targets, recorded, 0.2)
    torch.testing.assert_close(loss, torch.tensor((1.0 + 0.81 + 2.25) / 3))
    loss.backward()
    assert values.grad[0] == 0  # it has moved as far as it may towards its target
    assert (values.grad[1:] != 0).all()


def test_ppo_clips_values_around_those_recorded_while_acting():
    one = collector()
    batch = Ppo().prepare(to_batch(one.collect()))
    output = forward(one.policy, batch)
    moved = dataclasses.replace(output, values=output.values + 5.0)
    told = Ppo(value_clip_range=0.2).loss(moved, batch, Progress())[1]["loss/value"]
    wanted = pg.clipped_value_loss(moved.values, batch["value_targets"], batch["values"], 0.2)
    torch.testing.assert_close(told, wanted.detach())
    assert told >= Ppo().loss(moved, batch, Progress())[1]["loss/value"]


# ------------------------------------------------------------------------------------------------- rates


def test_the_critic_can_have_a_learning_rate_of_its_own():
    policy = collector().policy
    settings = OptimiserSettings(
        learning_rate=Schedule.linear(1e-3, 0.0, 100), critic_learning_rate=Schedule.linear(1e-1, 0.0, 200)
    )
    optimiser = make_optimiser(settings, policy.parameters(), policy.value_head.parameters())
    assert [group["lr"] for group in optimiser.param_groups] == [1e-3, 1e-1]
    assert set_learning_rate(optimiser, settings, Progress(env_steps=50)) == pytest.approx(5e-4)
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([5e-4, 0.075])
    critic = {id(parameter) for parameter in policy.value_head.parameters()}
    assert {id(parameter) for parameter in optimiser.param_groups[1]["params"]} == critic
    # Checkpoints and curricula know an optimiser's state by the order of names.
    named, order = dict(policy.named_parameters()), [p for group in optimiser.param_groups for p in group["params"]]
    assert [id(named[name]) for name in trainable_names(policy)] == [id(parameter) for parameter in order]
