"""Regularisers of ROMA and LDSA against numbers worked out by hand."""

import math

import pytest
import torch

from rl_models.losses.roles import divergence, entropy, identifiability, specialisation
from rl_models.losses.subtasks import change_of_choice, mean_squared_distance, usage_entropy


def test_entropy_and_divergence_of_roles_are_those_of_normal_distributions():
    zeros, ones = torch.zeros(3), torch.ones(3)
    assert float(entropy(ones)) == pytest.approx(4.2568, abs=1e-4)
    exact = torch.distributions.kl_divergence(
        torch.distributions.Normal(zeros, ones), torch.distributions.Normal(ones, 2 * ones)
    )
    assert float(divergence(zeros, ones, ones, 4 * ones)) == pytest.approx(float(exact.sum()))


def test_identifiability_is_the_softplus_of_the_weighted_sum():
    zeros, ones = torch.zeros(2, 5, 2, 3), torch.ones(2, 5, 2, 3)
    loss = identifiability((zeros, ones), (ones, 4 * ones), 1e-4, 1e-4)
    assert float(loss) == pytest.approx(0.69343, abs=1e-5)


def test_identifiability_stays_finite_where_memories_are_far_off():
    zeros, ones = torch.zeros(1, 1, 2, 3), torch.ones(1, 1, 2, 3)
    far = 1e4 * ones
    assert float(identifiability((zeros, ones), (far, ones), 1.0, 1.0)) == pytest.approx(2000.0)


def test_specialisation_is_the_sum_over_pairs_of_the_formula():
    generator = torch.Generator().manual_seed(0)
    mean, sample = (torch.randn(3, 2, 3, 3, generator=generator) for _ in range(2))
    variance = torch.rand(3, 2, 3, 3, generator=generator) + 0.1
    differences = torch.rand(3, 2, 3, 3, generator=generator)
    total = 0.0
    for world, step in [(b, t) for b in range(3) for t in range(2)]:
        similar = torch.empty(3, 3)
        for i in range(3):
            normal = torch.distributions.Normal(mean[world, step, i], variance[world, step, i].sqrt())
            for j in range(3):
                similar[i, j] = (normal.log_prob(sample[world, step, j]) + 13.9).clamp_min(-13.9).mean()
        scaled = [(x - x.min()) / (x.max() - x.min() + 1e-12) for x in (similar, differences[world, step])]
        total += float(scaled[1].sum() - (scaled[0] + scaled[1]).clamp(max=1).sum()) / 9
    assert float(specialisation(mean, variance, sample, differences)) == pytest.approx(total / 6, abs=1e-5)


def test_distance_of_subtasks_is_the_number_by_hand():
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).tanh()
    assert float(mean_squared_distance(table)) == pytest.approx(1.5467, abs=1e-4)


def test_only_the_first_of_a_pair_of_subtasks_is_moved():
    table = torch.tensor([[0.0], [1.0]], requires_grad=True)
    mean_squared_distance(table).backward()
    assert table.grad.flatten().tolist() == [-1.0, 1.0]  # half of what a gradient through both would be


def choices(later):
    now = torch.zeros(1, 1, 1, 2)
    return torch.cat([now, later], 1)


def test_change_of_choice_is_the_number_by_hand():
    later = torch.tensor([2.0, 0.0]).view(1, 1, 1, 2)
    crossed = change_of_choice(choices(later), torch.tensor([[True, False]]))
    assert float(crossed) == pytest.approx(1.1269, abs=1e-4)
    assert float(crossed) - math.log(2) == pytest.approx(0.4338, abs=1e-4)  # KL: less the entropy of (.5, .5)


def test_change_of_choice_has_the_gradient_of_the_divergence():
    gradients = []
    for is_divergence in (False, True):
        later = torch.tensor([2.0, -1.0]).view(1, 1, 1, 2).requires_grad_()
        if is_divergence:
            loss = torch.nn.functional.kl_div(later[0, 0].log_softmax(-1), torch.full((1, 2), 0.5), reduction="sum")
        else:
            loss = change_of_choice(choices(later), torch.tensor([[True, False]]))
        gradients.append(torch.autograd.grad(loss, later)[0])
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-5)


def test_a_change_across_the_end_of_an_episode_does_not_count():
    logits = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(1))
    is_first = torch.zeros(2, 5, dtype=torch.bool)
    is_first[:, 2] = True
    other = logits.clone()
    other[:, 2:] = other[:, 2:].flip(-1)
    assert float(change_of_choice(logits, is_first)) == pytest.approx(float(change_of_choice(other, is_first)))
    assert float(change_of_choice(logits[:, :1], is_first[:, :1])) == 0.0


def test_usage_is_0_for_one_subtask_and_the_logarithm_for_all():
    assert float(usage_entropy(torch.eye(4)[torch.zeros(8, dtype=torch.long)])) == 0.0
    assert float(usage_entropy(torch.eye(4))) == pytest.approx(math.log(4))
