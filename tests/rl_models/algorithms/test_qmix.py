"""QMIX as an objective: what it learns from, what follows each step, what continues, and the game of its own paper."""

import copy

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.qmix import Qmix
from rl_models.algorithms.replay import Replay
from rl_models.batch import forward, to_batch
from rl_models.networks.qmix_policy import ONLINE, make_mixing
from rl_models.schedule import Progress, Schedule
from rl_models.training.evaluation import Evaluation
from rl_models.training.local_algorithm import LocalAlgorithm
from rl_models.training.loop import Learner, train
from tests.rl_models.algorithms.small_qmix import collector, learner, objective, room_team, two_step_team
from tests.rl_models.training.small import begun


def drawn(one=None):
    """A fragment as the replay gives it back, and who played it."""
    one = one or collector()
    replay = Replay(15)
    replay.add(objective().prepare(to_batch(one.collect())))
    return next(replay.draws(1, 6, seed=0)), one.policy


def loss_of(policy, batch, **arguments):
    return objective(**arguments).loss(forward(policy, batch), batch, Progress())


def weights(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def alike(module, tensors):
    return all(value.equal(tensors[name]) for name, value in module.state_dict().items())


# ---------------------------------------------------------------------------------------------- loss


def test_every_weight_learns_and_no_target_does():
    batch, policy = drawn()
    loss_of(policy, batch)[0].backward()
    for name, weight in policy.named_parameters():
        gets_gradient = weight.grad is not None and bool(weight.grad.abs().sum() > 0)
        assert gets_gradient == (not name.startswith("target_")), name


@pytest.mark.parametrize("td_lambda", [0.0, 0.8])
def test_a_truncated_step_is_learned_with_its_final_value_and_nothing_of_the_next_episode(td_lambda):
    batch, policy = drawn()
    batch["terminated"][:], batch["truncated"][:], batch["truncated"][:, 4], batch["terminated"][:, 5] = 0, 0, 1, 1

    def mean_target(**changed):
        return float(loss_of(policy, batch | changed, td_lambda=td_lambda)[1]["policy/joint_target"])

    def with_more(key, step, added):
        value = batch[key].clone()
        value[:, step] += added
        return {key: value}

    before, steps = mean_target(), batch["truncated"].shape[1]
    assert mean_target(**with_more("reward", 5, 240.0)) - before == pytest.approx(240.0 / steps, rel=1e-4)
    assert mean_target(**with_more("reward", 4, 240.0)) - before >= 240.0 / steps * 0.9999
    assert mean_target(**with_more("final_values", 4, 9.0)) > before
    assert mean_target(**with_more("final_values", 3, 9.0)) == before


def test_a_declared_loss_is_added():
    batch, policy = drawn()
    plain = loss_of(policy, batch)[0].item()
    loss, statistics = loss_of(policy, batch, extra_losses=(lambda *_: (torch.tensor(2.5), {"loss/extra": 2.5}),))
    assert loss.item() == pytest.approx(plain + 2.5)
    assert statistics["loss/extra"] == 2.5
    assert float(statistics["loss/total"]) == loss.item()


# ------------------------------------------------------------------------------------- what it learns from


def test_texts_that_are_read_are_kept_as_tokens_and_all_others_forgotten():
    fragment = collector().collect()
    prepared = objective().prepare(to_batch(fragment))
    np.testing.assert_array_equal(prepared["obs/goal"], fragment.texts["goal"][fragment.obs["goal"]])
    assert not [key for key in prepared if key.startswith("texts/") or key == "obs/document"]


def test_minibatches_come_from_all_that_was_kept_not_from_the_newest_alone():
    one, qmix, replay = collector(), objective(gradient_steps=30, batch_size=4), Replay(15)
    first, second = (qmix.prepare(to_batch(one.collect())) for _ in range(2))
    list(qmix.minibatches(first, 0, replay))
    parts = list(qmix.minibatches(second, 1, replay))
    assert len(replay) == 12
    assert [len(part["is_first"]) for part in parts] == [4] * 30
    drawn_states = {tuple(row) for part in parts for row in part["obs/position"].flatten(1).tolist()}
    for batch in (first, second):
        assert {tuple(row) for row in batch["obs/position"].flatten(1).tolist()} <= drawn_states


# ------------------------------------------------------------------------------------ what follows a step


def test_targets_are_brought_up_to_date_every_k_updates_and_stay_in_between():
    one = collector()
    teacher, policy = learner(one.policy, gradient_steps=1, update_target_every_updates=3), one.policy
    learned = torch.nn.ModuleList([policy.network, policy.mixer])
    targets = torch.nn.ModuleList([policy.target_network, policy.target_mixer])
    assert alike(targets, weights(learned)), "they begin as copies"
    before, was_equal = weights(targets), []
    for _ in range(7):
        teacher.update([one.collect()])
        was_equal.append((alike(targets, before), alike(targets, weights(learned))))
        before = weights(targets)
    assert was_equal == [(False, True) if update in (3, 6) else (True, False) for update in range(1, 8)]


def test_epsilon_falls_as_scheduled_for_whoever_acts():
    one = collector(policy=room_team(epsilon=1.0))
    teacher = learner(one.policy, epsilon=Schedule.linear(1.0, 0.0, 144))
    shares = []
    for _ in range(3):
        fragment = one.collect()
        log_prob = fragment.steps["agent_log_prob"]
        shares.append(float(one.policy.policy_head.epsilon))
        if shares[-1] == 0.0:
            np.testing.assert_allclose(log_prob, 0.0, atol=1e-6)  # nothing is left to chance
        teacher.update([fragment])
    assert shares == [1.0, 0.5, 0.0]


# -------------------------------------------------------------------------------- killed and continued


def algorithm(seed, settings=None):
    policy = room_team(seed=1)
    return LocalAlgorithm(collector(policy=policy, seed=seed), learner(policy, settings), seed, updates_per_train=2)


@pytest.mark.parametrize(("restores", "kind"), [(False, "adam"), (False, "rmsprop"), (True, "adam")])
def test_a_checkpoint_and_the_team_of_its_weights_stay_as_they_were_while_training_goes_on(restores, kind):
    one = algorithm(3, OptimiserSettings(optimiser=kind))
    one.train()
    tensors, progress = one.checkpoint()
    wanted = copy.deepcopy(tensors)
    if restores:
        one.restore(tensors, progress)
    team = one.policy(tensors["weights"])
    one.train()
    for group, arrays in (wanted | {"team": wanted["weights"]}).items():
        held = team.state_dict() if group == "team" else tensors[group]
        for name, value in arrays.items():
            assert np.array_equal(held[name], value), f"{group}: {name}"
    assert not alike(one.policy(), wanted["weights"])


def test_a_checkpoint_of_another_stage_brings_no_replay():
    """A curriculum hands over weights alone; what was played in another game is not learned from again."""
    one = algorithm(3)
    one.train()
    tensors, _ = one.checkpoint()
    one.restore({name: tensors[name] for name in ("weights", "optimizer")}, Progress())
    assert len(one.learner.replay) == 0


@pytest.mark.parametrize("is_greedy", [None, True, False])
def test_an_evaluation_explores_only_where_it_is_told_to_sample(is_greedy):
    outcomes = []
    for epsilon in (0.0, 1.0):
        team = two_step_team()
        team.policy_head.epsilon.fill_(epsilon)
        outcomes.append(Evaluation(make("two_step_game-v0", 64), team, is_greedy=is_greedy).run(seed=0)["outcome"])
    assert np.array_equal(*outcomes) == (is_greedy is not False)


# ---------------------------------------------------------------------------------- the paper's own game


def play(policy):
    return Evaluation(make("two_step_game-v0", 2), policy).run(seed=0)["outcome"].mean()


@torch.enable_grad()
def joint_values(policy, *rooms_so_far):
    """Q_tot of all joint actions in the last of these rooms, in the order aa, ab, ba, bb."""
    state = torch.eye(3)[list(rooms_so_far)][None, :, None].expand(1, -1, 2, -1)
    first = torch.tensor([[True, False][: len(rooms_so_far)]])
    extras = policy({"state": state}, policy.initial_state(1), first).extras
    mix, values = make_mixing(extras, ONLINE, slice(-1, None)), extras[f"q/{ONLINE}"][0, -1].detach()
    joint = torch.stack([values[0, [0, 0, 1, 1]], values[1, [0, 1, 0, 1]]], -1)
    return torch.stack([mix(row[None, None])[0, 0] for row in joint]).detach()


def trained_on_the_two_step_game(mixing_hidden_size):
    policy = two_step_team(mixing_hidden_size)
    one = begun(make("two_step_game-v0", 32), policy, 2, needs_values=False, seed=0)
    qmix = Qmix(
        epsilon=Schedule.constant(1.0), buffer_size=512, batch_size=32, gradient_steps=2, update_target_every_updates=25
    )
    settings = OptimiserSettings(learning_rate=Schedule.linear(1e-2, 1e-3, 12_800), max_grad_norm=10.0)
    train(one, Learner(policy, qmix, settings), 12_800)
    return policy


@pytest.mark.long
def test_qmix_solves_the_two_step_game_and_learns_the_papers_table():
    policy = trained_on_the_two_step_game(mixing_hidden_size=8)
    assert play(policy) == 8.0
    for rooms_so_far, table in (
        ((0,), [6.93, 6.93, 7.92, 7.92]),  # the discount 0.99 of 7 and 8
        ((0, 1), [7.0, 7.0, 7.0, 7.0]),
        ((0, 2), [0.0, 1.0, 1.0, 8.0]),
    ):
        torch.testing.assert_close(joint_values(policy, *rooms_so_far), torch.tensor(table), atol=0.1, rtol=0)


@pytest.mark.slow
def test_without_a_mixer_it_settles_for_the_safe_reward():
    """VDN: what it can believe of the risky half is the additive fit, whose best entry of 6.5 is less than 7."""
    policy = trained_on_the_two_step_game(mixing_hidden_size=0)
    assert play(policy) == 7.0
    risky = torch.tensor([-1.5, 2.5, 2.5, 6.5])
    torch.testing.assert_close(joint_values(policy, 0, 2), risky, atol=0.4, rtol=0)
