"""The row of rock-paper-scissors whose attention is told where to look: what it adds, to whom, and to nobody else."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.batch import forward, to_batch
from rl_models.losses.attention_supervision import AttentionSupervision
from rl_models.schedule import Progress, Schedule
from tests.rl_models.training.small import begun
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.rtfm.config import SUPERVISED
from tune_experiments.rtfm.trials import plan_letters as plan

EXPERIMENT = find_experiment("rtfm_rock_paper_scissors")
SMOKE = EXPERIMENT.presets["smoke"]


def fragment_of(trial, world=None):
    policy = trial.build_policy()
    fragment = begun(world or trial.make_world(num_worlds=6, first_world=0), policy, 9, seed=0).collect()
    return policy, trial.objective.prepare(to_batch(fragment))


def losses(trial):
    policy, batch = fragment_of(trial)
    return trial.objective.loss(forward(policy, batch), batch, Progress())


def test_the_row_is_txt2pi_with_the_same_weights_and_one_more_loss():
    plain, supervised = plan(SMOKE, "txt2pi", 1), plan(SMOKE, SUPERVISED, 1)
    ours, theirs = supervised.build_policy().state_dict(), plain.build_policy().state_dict()
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert plain.objective.extra_losses == ()
    assert dataclasses.replace(supervised.objective, extra_losses=()) == plain.objective


def test_every_other_row_learns_as_before_from_worlds_that_tell_nothing():
    for row in ("cnn", "film", "txt2pi", "txt2pi_from_scratch"):
        trial = plan(SMOKE, row, 0)
        assert trial.objective.extra_losses == () and "answer_word" not in trial.make_world().reset(0)


def test_the_loss_is_that_of_txt2pi_plus_the_weighted_error_of_the_attention():
    (plain, _), (with_, statistics) = losses(plan(SMOKE, "txt2pi", 0)), losses(plan(SMOKE, SUPERVISED, 0))
    added = SMOKE.attention_coef * statistics["loss/attention"]
    torch.testing.assert_close(with_, plain + added)
    # An untrained reader looks at all twelve words.
    assert statistics["loss/attention"].item() == pytest.approx(np.log(12), abs=0.3)


def test_the_attention_error_is_the_mean_over_steps_and_layers_of_the_told_word():
    policy, batch = fragment_of(plan(SMOKE, SUPERVISED, 0))
    output = forward(policy, batch)
    _, statistics = AttentionSupervision(Schedule.constant(1.0))(output, batch, Progress())
    weights, told = output.extras["attention/grid"].detach(), batch["obs/answer_word"]
    worlds, time, _, layers, _ = weights.shape
    slow = [
        -np.log(weights[world, step, 0, layer, told[world, step, 0].long()].item())
        for world in range(worlds)
        for step in range(time)
        for layer in range(layers)
    ]
    assert statistics["loss/attention"].item() == pytest.approx(np.mean(slow), rel=1e-4)
    hits = weights.argmax(-1) == told[:, :time, :, None]
    assert statistics["policy/attention_hits"] == hits.float().mean()


def test_its_gradient_reaches_the_document_reader_the_words_and_what_sees_the_grid_but_no_head():
    policy, batch = fragment_of(plan(SMOKE, SUPERVISED, 0))
    loss, _ = AttentionSupervision(Schedule.constant(1.0))(forward(policy, batch), batch, Progress())
    loss.backward()
    moved = {name for name, weights in policy.named_parameters() if weights.grad is not None and weights.grad.any()}
    assert "network.words.weight" in moved
    for part in ("network.reader.document_reader", "network.stack.summaries.0", "network.stack.layers.0"):
        assert any(name.startswith(part) for name in moved), part
    assert not any("head" in name for name in moved)


@pytest.mark.parametrize("row", ["txt2pi", SUPERVISED])
def test_no_network_reads_the_answer(row):
    world = plan(SMOKE, SUPERVISED, 0).make_world(num_worlds=6, first_world=0)
    policy, batch = fragment_of(plan(SMOKE, row, 0), world)
    other = batch | {"obs/answer_word": 11 - batch["obs/answer_word"]}
    without = {key: value for key, value in batch.items() if key != "obs/answer_word"}
    first, second, third = (forward(policy, seen) for seen in (batch, other, without))
    for output in (second, third):
        assert torch.equal(first.policy.log_marginals, output.policy.log_marginals)
        assert torch.equal(first.values, output.values)


def test_a_reader_without_attention_cannot_be_supervised():
    trial = plan(SMOKE, "film", 0)
    policy, batch = fragment_of(trial, plan(SMOKE, SUPERVISED, 0).make_world(num_worlds=6, first_world=0))
    with pytest.raises(ValueError, match="shows_attention"):
        AttentionSupervision(Schedule.constant(1.0))(forward(policy, batch), batch, Progress())
