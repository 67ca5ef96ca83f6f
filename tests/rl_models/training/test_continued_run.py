"""A run that is killed and continued from its checkpoint equals an unbroken one, whatever learns and steps."""

import dataclasses

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.schedule import Progress, Schedule
from rl_models.training.checkpoint import load_checkpoint, save_checkpoint
from rl_models.training.local_algorithm import LocalAlgorithm
from rl_models.training.loop import SKIPPED, Learner
from tests.rl_models.algorithms import small_qmix
from tests.rl_models.training.not_finite import NotFinite
from tests.rl_models.training.small import LENGTH, collector, cordial, rooms

FALLING = Schedule.linear(3e-3, 0.0, 10_000)
OPTIMISERS = {
    "adam": OptimiserSettings(learning_rate=FALLING, amsgrad=True),
    "rmsprop": OptimiserSettings(optimiser="rmsprop", learning_rate=FALLING, max_grad_norm=0.5),
}
LOSSES = {"entropy_coef": Schedule.linear(0.05, 0.0, 500), "extra_losses": (cordial(rooms(1)),)}
OBJECTIVES = {
    "ppo": Ppo(num_epochs=1, num_minibatches=2, **LOSSES),
    "impala": Impala(**LOSSES),
    "qmix": small_qmix.objective(),
    "skipped updates": Ppo(num_epochs=1, num_minibatches=3, extra_losses=(NotFinite(6 * LENGTH, 3 * 6 * LENGTH),)),
}


def algorithm(name, optimiser):
    objective = OBJECTIVES[name]
    one = small_qmix.collector() if name == "qmix" else collector(needs_values=objective.needs_values)
    return LocalAlgorithm(one, Learner(one.policy, objective, OPTIMISERS[optimiser]), 3, updates_per_train=1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "optimiser"),
    [("ppo", "rmsprop"), ("impala", "adam"), ("qmix", "adam"), ("skipped updates", "adam")],
)
def test_a_killed_and_continued_run_equals_an_unbroken_one(name, optimiser, tmp_path):
    unbroken = algorithm(name, optimiser)
    unbroken.train(), unbroken.train()
    tensors, progress = unbroken.checkpoint()
    path = save_checkpoint(tmp_path, progress.env_steps, tensors, {"progress": dataclasses.asdict(progress)})
    wanted = [unbroken.train() for _ in range(2)]
    assert name != "skipped updates" or (progress.skipped_updates > 0 and wanted[-1][SKIPPED] > 0)

    continued = algorithm(name, optimiser)
    continued.train()  # whatever was there must not show through
    checkpoint = load_checkpoint(path)
    continued.restore(checkpoint.tensors, Progress(**checkpoint.state["progress"]))
    assert [continued.train() for _ in range(2)] == wanted
    assert continued.progress() == unbroken.progress()
    torch.testing.assert_close(continued.policy().state_dict(), unbroken.policy().state_dict(), rtol=0, atol=0)
