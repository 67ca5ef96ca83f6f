"""An algorithm of one's own: dual-clip PPO by its name, its clipped value, and names that are refused."""

import pytest
import torch

from examples.dual_clip import DualClipPpo
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.errors import InputError
from rl_models.schedule import Schedule
from tests.tune_experiments.run.in_process import no_pictures
from tune_experiments import load_policy
from tune_experiments.core.errors import UserError
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.launch.experiment import main

NAME = "examples.dual_clip:DualClipPpo"


@pytest.mark.parametrize(
    ("ratio", "advantage", "surrogate"),
    [
        (1.5, 2.0, 2.4),  # clipped at 1.2
        (0.5, -1.0, -0.8),  # clipped at 0.8
        (2.0, -1.0, -2.0),  # above 1 - clip, below dual_clip
        (10.0, -1.0, -3.0),  # the second clip: PPO has -10
    ],
)
def test_its_surrogate_is_clipped_twice_where_the_advantage_is_negative(ratio, advantage, surrogate):
    objective = make_objective(AlgorithmConfig(algorithm=NAME, clip_range=0.2), Schedule.constant(0.0))
    assert isinstance(objective, DualClipPpo)
    log_ratio = torch.tensor([[[ratio]]]).log().requires_grad_()
    loss = objective.policy_loss(log_ratio, torch.tensor([[[advantage]]]), None)
    assert loss.item() == pytest.approx(-surrogate)


@pytest.mark.parametrize(
    "name", ["sac", "examples.dual_clip", "no_such_module:Ppo", "examples.dual_clip:Ddpg", "json:JSONDecoder"]
)
def test_what_is_no_algorithm_is_refused_by_its_name(name):
    with pytest.raises(InputError, match=name):
        make_objective(AlgorithmConfig(algorithm=name), Schedule.constant(0.0))


@pytest.mark.long
def test_it_trains_and_is_opened_by_who_names_its_module(tmp_path):
    """The corridor of these examples trains with losses of its own in Ray's workers."""
    flags = "--preset smoke --methods marginal --local --budget-env-steps 160"
    flags += " --valid-starts-per-room 1 --test-starts-per-room 1"
    with no_pictures():
        assert main(EXPERIMENT, [*flags.split(), "--learner.algorithm", NAME, "--out", str(tmp_path)]) == 0
    with pytest.raises(UserError, match=r"--allow examples\.dual_clip"):
        load_policy(tmp_path)
    assert load_policy(tmp_path, allow=["examples.dual_clip"]).method == "marginal"
