"""What optimisers are made of, clipping, and gradients that are not finite."""

import math

import pytest
import torch
from torch import nn

from rl_models.algorithms.optimiser import (
    OptimiserSettings,
    clip_gradients,
    load_optimiser,
    make_optimiser,
    optimiser_tensors,
    step_if_finite,
)
from rl_models.batch import Learners
from rl_models.schedule import Progress, Schedule
from tests.emulated_device import DEVICE, emulated_device


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        (torch.optim.RMSprop, {"optimiser": "rmsprop", "optimiser_epsilon": 0.01}, {"alpha": 0.99, "eps": 0.01}),
        (torch.optim.Adam, {"betas": (0.8, 0.5), "optimiser_epsilon": 1e-3}, {"betas": (0.8, 0.5), "eps": 1e-3}),
        (torch.optim.Adam, {"amsgrad": True}, {"amsgrad": True}),
        (torch.optim.Adam, {"amsgrad": False}, {"amsgrad": False}),
    ],
)
def test_an_optimiser_has_the_constants_of_its_settings(kind, settings, wanted):
    settings = OptimiserSettings(learning_rate=Schedule.constant(0.1), **settings)
    optimiser = make_optimiser(settings, [nn.Parameter(torch.ones(1))])
    (group,) = optimiser.param_groups
    assert type(optimiser) is kind
    assert {name: group[name] for name in ("lr", *wanted)} == {"lr": 0.1, **wanted}


def test_clipping_by_norm_scales_all_gradients_alike_and_only_if_they_are_too_long():
    settings = OptimiserSettings(max_grad_norm=1.0)
    long = [torch.tensor([3.0]), torch.tensor([0.0, 4.0])]
    norm, is_finite = clip_gradients(settings, long)
    assert (float(norm), bool(is_finite)) == (pytest.approx(5.0), True)
    torch.testing.assert_close(torch.cat(long), torch.tensor([0.6, 0.0, 0.8]))
    short = [torch.tensor([0.3]), torch.tensor([0.0, 0.4])]
    norm, is_finite = clip_gradients(settings, short)
    assert (float(norm), bool(is_finite)) == (pytest.approx(0.5), True)
    torch.testing.assert_close(torch.cat(short), torch.tensor([0.3, 0.0, 0.4]))


def test_clipping_by_the_largest_entry_scales_all_gradients_together_as_the_authors_do():
    gradients = [torch.tensor([-9.0, 2.0]), torch.tensor([4.0])]
    assert clip_gradients(OptimiserSettings(max_grad_norm=3.0, grad_clip_by="largest"), gradients)[1]
    torch.testing.assert_close(torch.cat(gradients), torch.tensor([-9.0, 2.0, 4.0]) / 3)
    small = [torch.tensor([2.9, -2.9])]
    clip_gradients(OptimiserSettings(max_grad_norm=3.0, grad_clip_by="largest"), small)
    assert small[0].tolist() == pytest.approx([2.9, -2.9])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("clip_by", ["norm", "largest"])
def test_one_bad_entry_condemns_all_gradients(bad, clip_by):
    weights = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))]
    settings = OptimiserSettings(grad_clip_by=clip_by)
    optimiser = make_optimiser(settings, weights)
    for weight, gradient in zip(weights, ([1.0, bad], [2.0]), strict=True):
        weight.grad = torch.tensor(gradient)
    norm, is_finite = clip_gradients(settings, [weight.grad for weight in weights])
    step_if_finite(optimiser, is_finite)
    assert not is_finite
    assert not math.isfinite(norm)
    assert torch.cat([weight.detach() for weight in weights]).tolist() == [1.0, 1.0, 1.0]
    assert not optimiser.state


@pytest.mark.parametrize("weight", [torch.ones(3, 2, 2, 2), torch.ones(())], ids=["convolution", "scalar"])
@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
def test_weights_in_another_layout_learn_and_continue_as_contiguous_ones(optimiser, weight):
    settings = OptimiserSettings(optimiser=optimiser)
    gradients = torch.randn(6, *weight.shape, generator=torch.Generator().manual_seed(0))
    found = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        layout = memory_format if weight.ndim == 4 else torch.contiguous_format
        one = nn.Parameter(weight.clone(memory_format=layout))
        steps = make_optimiser(settings, [one])
        for number, gradient in enumerate(gradients):
            one.grad = torch.empty_like(one).copy_(gradient)
            steps.step()
            if number == 2 and memory_format is torch.channels_last:  # a checkpoint keeps numbers, and no layout
                stored = {name: value.contiguous() for name, value in optimiser_tensors(steps).items()}
                steps = make_optimiser(settings, [one])
                load_optimiser(steps, stored)
        found.append(one.detach())
    torch.testing.assert_close(found[1].contiguous(), found[0], rtol=0, atol=1e-7)


def test_the_sum_of_several_learners_gradients_lies_in_memory_as_the_weight_does():
    weight = nn.Parameter(torch.ones(3, 2, 2, 2).to(memory_format=torch.channels_last))
    weight.grad = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(0))
    expected = 2 * weight.grad.clone()
    Learners(0, 2, lambda values: 2 * values).sum_gradients([weight])
    assert weight.grad.stride() == weight.stride()
    torch.testing.assert_close(weight.grad, expected)


@pytest.mark.parametrize("first_is_bad", [False, True])
def test_rmsprop_moves_no_weight_by_a_bad_gradient_on_an_emulated_device_and_asks_nothing(first_is_bad):
    good, bad, last = torch.tensor([1.0, 2.0]), torch.tensor([torch.nan, 1.0]), torch.tensor([0.5, -1.0])
    gradients = [bad, good, last] if first_is_bad else [good, bad, last]
    settings = OptimiserSettings(optimiser="rmsprop")
    here = torch.nn.Parameter(torch.ones(2))
    expected = make_optimiser(settings, [here])
    with emulated_device() as counts:
        there = torch.nn.Parameter(torch.ones(2).to(DEVICE))
        optimiser = make_optimiser(settings, [there])
        for gradient in gradients:
            here.grad = gradient.clone() if gradient.isfinite().all() else torch.zeros(2)
            expected.step()
            there.grad = gradient.to(DEVICE)
            counts.copies = counts.syncs = 0
            step_if_finite(optimiser, there.grad.isfinite().all())
            assert (counts.copies, counts.syncs) == (0, 0)
        weight, moment = there.detach().cpu(), optimiser.state[there]["square_avg"].cpu()
    torch.testing.assert_close(weight, here.detach())
    torch.testing.assert_close(moment, expected.state[here]["square_avg"])


@pytest.mark.parametrize(
    ("moment", "value"), [(0, 1.0), (5, 1.0), (10, 1.0), (15, 0.75), (20, 0.5), (30, 0.25), (40, 0.0), (10**9, 0.0)]
)
def test_a_schedule_is_linear_between_points_and_constant_outside_them(moment, value):
    schedule = Schedule(((10, 1.0), (20, 0.5), (40, 0.0)))
    assert schedule.at(Progress(env_steps=moment)) == pytest.approx(value)


def test_a_schedule_counts_in_its_unit():
    schedule = Schedule.linear(1.0, 0.0, 10, unit="episodes")
    assert schedule.at(Progress(env_steps=10**6)) == 1.0
    assert schedule.at(Progress(episodes=5)) == 0.5
    in_steps = Schedule.linear(1.0, 0.0, 10, unit="optimiser_steps")
    assert [in_steps.at(Progress(env_steps=99, episodes=99, updates=one)) for one in (0, 5, 20)] == [1.0, 0.5, 0.0]
    assert Schedule.linear(1.0, 0.0, 10).at(Progress(env_steps=5, episodes=9)) == 0.5


def test_a_schedule_that_ends_at_once_has_its_last_value_from_the_first_step_on():
    assert Schedule.linear(1.0, 0.0, 0).at(Progress(env_steps=1)) == 0.0
