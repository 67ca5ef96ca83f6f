"""What happens when IMPALA's learner thread dies: RLlib alone would wait for it for ever."""

import dataclasses

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.rllib.team_algorithm import TeamAlgorithm
from tests.rl_models.rllib.small import plan

pytestmark = pytest.mark.usefixtures("ray_session")


class Breaks:
    """An extra loss that fails from the second update on."""

    def __call__(self, output, batch, progress):
        if progress.updates:
            raise ArithmeticError("this loss cannot go on")
        return torch.zeros(()), {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("learners", [0, 1])
def test_a_dead_learner_thread_ends_the_trial(learners):
    one = plan(Impala, learners=learners)
    one.objective = dataclasses.replace(one.objective, extra_losses=(Breaks(),))
    algorithm = TeamAlgorithm(one)
    with pytest.raises(Exception, match="this loss cannot go on"):
        while True:  # a learner elsewhere takes its time
            algorithm.train()
    algorithm.close()
