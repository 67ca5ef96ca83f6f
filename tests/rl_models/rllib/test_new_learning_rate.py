"""What population based training needs of RLlib: a restored trial learns with its new rate, not with the source's."""

import dataclasses

import pytest

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.schedule import Schedule
from tests.rl_models.rllib.small import plan

pytestmark = pytest.mark.usefixtures("ray_session")


def algorithm(kind, rate):
    settings = dataclasses.replace(OptimiserSettings(), learning_rate=Schedule.constant(rate))
    return TeamAlgorithm(dataclasses.replace(plan(kind), optimiser=settings))


def rates_of(trained):
    """What the optimiser itself holds."""
    return trained.each_learner(lambda learner: [group["lr"] for group in learner.get_optimizer().param_groups])[0]


def train_to_next_update(trained):
    before, row = trained.progress().updates, {}
    while trained.progress().updates == before:  # IMPALA may only queue a batch
        row |= trained.train()
    return row


@pytest.mark.parametrize("kind", [Ppo, Impala])
def test_a_checkpoint_of_another_rate_does_not_bring_it_along(kind):
    source = algorithm(kind, 1e-3)
    train_to_next_update(source)
    tensors, progress = source.checkpoint()
    assert rates_of(source) == [pytest.approx(1e-3)]
    source.close()
    target = algorithm(kind, 3e-5)
    target.restore(tensors, progress)
    row = train_to_next_update(target)
    assert row["schedule/learning_rate"] == pytest.approx(3e-5)
    assert rates_of(target) == [pytest.approx(3e-5)]
    target.close()
