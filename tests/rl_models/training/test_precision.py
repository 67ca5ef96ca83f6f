"""bfloat16 as an option: acting and learning round alike, and what is kept and added up stays float32."""

import pytest
import torch

from rl_models.algorithms.objective import RATIO_ERROR
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import forward, to_batch
from rl_models.training.loop import FIRST_RATIO_ERROR, Learner
from tests.rl_models.rllib.small import plan
from tests.rl_models.training.small import begun, rooms, team


def update(precision, epochs=1):
    """Statistics of an update, the team and what it played."""
    policy = team(3)
    learner = Learner(policy, Ppo(num_epochs=epochs, num_minibatches=2), OptimiserSettings(precision=precision))
    fragment = begun(rooms(6), policy, 10, seed=0).collect()
    return learner.update([fragment]), policy, fragment


def test_in_bfloat16_the_first_minibatch_clips_no_more_samples_than_in_float32():
    for precision, largest in (("float32", 1e-5), ("bfloat16", 0.05)):
        statistics, _, _ = update(precision)
        assert float(statistics[FIRST_RATIO_ERROR]) < largest, precision
        assert float(statistics["policy/clip_fraction"]) == 0.0


def test_the_ratio_error_of_the_first_minibatch_is_kept_beside_that_of_the_last():
    statistics, _, _ = update("float32", epochs=6)
    assert float(statistics[FIRST_RATIO_ERROR]) < 1e-5 < float(statistics[RATIO_ERROR])


def test_in_bfloat16_weights_gradients_and_outputs_are_float32_and_the_network_rounds():
    _, policy, fragment = update("bfloat16")
    batch = to_batch(fragment)
    output = forward(policy, batch)
    assert {weight.dtype for weight in policy.parameters()} == {torch.float32}
    assert {weight.grad.dtype for weight in policy.parameters() if weight.grad is not None} == {torch.float32}
    assert {value.dtype for value in (output.values, *output.state.values())} == {torch.float32}
    policy.precision = "float32"
    exact = forward(policy, batch)
    assert 1e-5 < float((output.values - exact.values).detach().abs().max()) < 0.1


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_runners_and_learners_of_a_plan_have_one_precision(precision):
    assert plan(optimiser=OptimiserSettings(precision=precision)).new_policy().precision == precision
