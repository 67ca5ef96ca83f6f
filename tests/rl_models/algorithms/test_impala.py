"""IMPALA's minibatches: equal to the bit to steps written out, with V-trace of the weights at each of these steps."""

import copy

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings, clip_gradients, make_optimiser
from rl_models.batch import compute_share, count_steps, forward, to_batch
from rl_models.losses.extra_loss import MeanLoss
from rl_models.schedule import Progress, Schedule
from rl_models.training import loop
from rl_models.training.loop import Learner, shuffle_seed
from tests.rl_models.training.small import LENGTH, collector

RMSPROP = OptimiserSettings(
    optimiser="rmsprop", learning_rate=Schedule.linear(1e-2, 0.0, 20, "optimiser_steps"), max_grad_norm=0.5
)


def written_out(policy, objective, fragments, seed=0):
    """Weights after one plain step of the optimiser for each minibatch of each fragment."""
    parameters = list(policy.parameters())
    optimiser, progress = make_optimiser(RMSPROP, parameters), Progress()
    for fragment in fragments:
        batch = objective.prepare(to_batch(fragment))
        progress.env_steps += fragment.env_steps()
        progress.episodes += int((batch["terminated"] | batch["truncated"]).sum())
        for part in objective.minibatches(batch, shuffle_seed(seed, progress.env_steps)):
            optimiser.zero_grad(set_to_none=True)
            objective.loss(forward(policy, part), part, progress)[0].backward()
            clip_gradients(RMSPROP, [one.grad for one in parameters])
            optimiser.param_groups[0]["lr"] = RMSPROP.learning_rate.at(progress)
            optimiser.step()
            progress.updates += 1
    return policy.state_dict(), progress


@pytest.mark.parametrize(
    ("reduction", "cut"),
    [("mean", {}), ("sum", {"num_minibatches": 3}), ("sum_steps", {"num_epochs": 2, "num_minibatches": 3})],
)
def test_an_update_is_one_step_a_minibatch_equal_to_the_bit_to_steps_written_out(reduction, cut):
    one = collector()
    fragments = [one.collect() for _ in range(2)]
    objective = Impala(loss_reduction=reduction, entropy_coef=Schedule.constant(0.01), **cut)
    expected, progress = written_out(copy.deepcopy(one.policy), objective, fragments)
    learner = Learner(one.policy, objective, RMSPROP)
    for fragment in fragments:
        learner.update([fragment])
    assert learner.progress == progress
    torch.testing.assert_close(one.policy.state_dict(), expected, rtol=0, atol=0)


def test_one_minibatch_is_the_whole_batch_in_its_order():
    batch = {"is_first": torch.zeros(6, 5), "world": torch.arange(6)}
    (only,) = Impala().minibatches(batch, seed=4)
    assert only["world"].tolist() == list(range(6))


def square_of_values(output, batch, progress):
    """An extra loss: a mean over all steps."""
    return output.values.square().mean(), {}


@pytest.mark.parametrize(("reduction", "factor"), [("mean", 1), ("sum_steps", LENGTH), ("sum", 6 * LENGTH)])
@pytest.mark.parametrize("parts", [1, 3])
def test_an_extra_loss_is_reduced_as_the_algorithms_own_unless_it_is_a_mean(reduction, factor, parts):
    """In the sum over steps the same weight is LENGTH times that of a mean."""
    one = collector()
    batch = Impala().prepare(to_batch(one.collect()))

    def total(*extra_losses):
        objective = Impala(loss_reduction=reduction, extra_losses=extra_losses, gradient_accumulation_steps=parts)
        whole = count_steps(batch)
        pieces = loop.parts(objective, batch)
        return sum(
            objective.loss(forward(one.policy, part), part, Progress(), compute_share(part, whole))[0]
            for part in pieces
        )

    with torch.no_grad():
        mean = forward(one.policy, batch).values[:, :LENGTH].square().mean()
        without = total()
        assert float(total(square_of_values) - without) == pytest.approx(factor * float(mean), rel=1e-3)
        assert float(total(MeanLoss(square_of_values)) - without) == pytest.approx(float(mean), rel=1e-3)


@pytest.mark.parametrize(("reduction", "factor"), [("mean", 1), ("sum_steps", LENGTH), ("sum", 6 * LENGTH)])
def test_the_logged_total_has_all_losses_as_means_over_steps(reduction, factor):
    one = collector()
    batch = Impala().prepare(to_batch(one.collect()))
    objective = Impala(loss_reduction=reduction, extra_losses=(MeanLoss(square_of_values), square_of_values))
    with torch.no_grad():
        loss, statistics = objective.loss(forward(one.policy, batch), batch, Progress())
    assert float(statistics["loss/total"]) * factor == pytest.approx(float(loss), rel=1e-5)
