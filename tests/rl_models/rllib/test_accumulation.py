"""Gradients in parts and the divergence that ends an update: RLlib's learners do what the Ray-free loop does."""

import dataclasses

import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.schedule import Schedule
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tests.rl_models.rllib.small import build_team, make_rooms, plan

pytestmark = pytest.mark.usefixtures("ray_session")
SETTINGS = OptimiserSettings(
    learning_rate=Schedule.constant(1e-2), critic_learning_rate=Schedule.constant(3e-3), amsgrad=True, max_grad_norm=1e9
)
PARTS = {"num_epochs": 4, "num_minibatches": 2, "gradient_accumulation_steps": 2}


@pytest.fixture
def trained():
    """Train once with RLlib; the algorithm and what it told."""
    built = []

    def train(**arguments):
        one = dataclasses.replace(plan(**arguments), optimiser=SETTINGS)
        built.append(TeamAlgorithm(one))
        return built[-1], built[-1].train()

    yield train
    for one in built:
        one.close()


def without_ray(one):
    """The same update in the Ray-free loop; the learner and what it told."""
    collector = Collector(make_rooms(6, 0), build_team(), 10)
    collector.reset(3)
    learner = Learner(collector.policy, one.plan.objective, SETTINGS, seed=one.plan.seed)
    return learner, learner.update([collector.collect()])


@pytest.mark.parametrize("limit", [0.0, 1e-3])
def test_rllib_steps_and_stops_as_the_ray_free_loop_does(trained, limit):
    one, told = trained(**PARTS, target_kl=limit, value_clip_range=0.2)
    learner, wanted = without_ray(one)
    assert one.progress() == learner.progress
    assert one.progress().updates == 8 if not limit else 0 < one.progress().updates < 8
    for name, value in one.policy().state_dict().items():
        torch.testing.assert_close(value, learner.policy.state_dict()[name], atol=1e-6, rtol=1e-5, msg=name)
    assert told["policy/approximate_kl"] == pytest.approx(float(wanted["policy/approximate_kl"]), rel=1e-3)
    assert told.get("learner/stopped", 0.0) == (1.0 if limit else 0.0)


@pytest.mark.slow
def test_two_learners_stop_at_the_same_minibatch_by_the_mean_of_what_they_see(trained):
    one, told = trained(**PARTS, target_kl=1e-3, learners=2, worlds=8)
    (first, progress), (second, others) = one.each_learner(lambda learner: learner.training_state())
    assert progress == others and 0 < progress.updates < 8
    assert told["learner/stopped"] == 1.0
    seen = one.each_learner(lambda learner: float(learner.core.divergence.mean))
    assert seen[0] == seen[1] > 1e-3
    for name, value in first["weights"].items():
        assert torch.equal(value, second["weights"][name]), name
