"""Losses that a teacher or a text supervises: imitation of an expert's joint actions, and attention by hand numbers."""

import math

import pytest
import torch

from rl_models.distributions.joint_policy import legal_logits
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.attention_supervision import attention_loss
from rl_models.losses.imitation import Imitation
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


def batch_of(expert):
    expert = torch.tensor([expert])
    return {"obs/expert": expert, "reward": torch.zeros(expert.shape), "actions": expert.clamp(min=0)}


def output_of(log_weights, log_marginals):
    policy = MixtureOfMarginals(log_weights[None], log_marginals[None])
    return TeamOutput(policy, torch.zeros(1, len(log_weights), 2), {}, {})


def test_a_mixture_is_taken_whole_and_not_by_component():
    weights = torch.tensor([[0.25, 0.75]]).log()
    marginals = torch.tensor([[[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.6, 0.4]]]]).log()
    expected = -math.log(0.25 * 0.9 * 0.3 + 0.75 * 0.2 * 0.4)
    loss, statistics = Imitation(Schedule.constant(2.0))(output_of(weights, marginals), batch_of([[0, 1]]), Progress())
    assert loss.item() == pytest.approx(2 * expected)
    assert statistics["loss/imitation"].item() == pytest.approx(expected)


def test_a_step_without_a_legal_action_of_an_expert_for_every_agent_gives_no_gradient():
    logits, legal = torch.zeros(3, 2, 1, 3, requires_grad=True), torch.ones(3, 2, 1, 3, dtype=torch.bool)
    legal[2, 1, 0, 2] = False
    output = output_of(torch.zeros(3, 1), legal_logits(logits, legal).log_softmax(-1))
    batch = batch_of([[-1, 1], [0, 2], [0, 2]])
    loss, statistics = Imitation(Schedule.constant(1.0))(output, batch, Progress())
    loss.backward()
    assert loss.item() == pytest.approx(2 * math.log(3))
    assert (logits.grad != 0).flatten(1).any(1).tolist() == [False, True, False]
    assert statistics["policy/expert_agreement"].item() == 1.0


def test_the_error_is_minus_the_log_of_the_weight_on_the_answer_and_finite_for_a_weight_of_zero():
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0]], requires_grad=True)
    error = attention_loss(weights, torch.tensor([1, 2, 0]))
    wanted = torch.tensor([math.log(4), -math.log(0.7), -math.log(1e-6)])
    torch.testing.assert_close(error, wanted, atol=1e-4, rtol=0)
    error.sum().backward()
    assert weights.grad.isfinite().all()
