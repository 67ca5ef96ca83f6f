"""Weights chosen by validation: what a stage hands on, and what is tested and loaded."""

import copy
import dataclasses
import functools

import numpy as np
import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.training.checkpoint import get_checkpoint_path, load_checkpoint, load_state, newest_complete_checkpoint
from rl_models.training.local_algorithm import LocalAlgorithm
from tests.tune_experiments.run.stages import BATCH, Config, experiment, make_local, plan, play
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage
from tune_experiments.play.loading import chosen_checkpoint
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial

STEPS = 6
"""Updates of a stage; each is followed by a validation."""


def peak(policy):
    """Highest near the weights after some updates: the distance that they have gone, up to a limit."""
    total = sum(float(value.abs().sum()) for value in policy.state_dict().values())
    return {"fit": np.array([-abs(total - peak.at)])}


def chosen_plan(**changes):
    return plan(
        budget_env_steps=STEPS * BATCH,
        validate_every_env_steps=BATCH,
        checkpoint_every_env_steps=100 * BATCH,
        optimiser=OptimiserSettings(),
        validate=peak,
        chosen_by="fit",
        **changes,
    )


def weights_at(folder, env_steps):
    return load_checkpoint(get_checkpoint_path(folder / "checkpoints", env_steps)).tensors["weights"]


def run(folder, declared):
    Trial(experiment(declared, "calm"), Config(), "walkers", 0, folder).run(lambda row: None)


def fits(folder):
    return {row["env_steps"]: row["valid/fit"] for row in read_metrics(folder / "metrics.jsonl")}


@pytest.fixture(scope="module", autouse=True)
def peak_in_the_middle(tmp_path_factory):
    """Validation is best for the weights after three updates of a stage, as a trial without a choice has them."""
    folder = tmp_path_factory.mktemp("unchosen")
    peak.at = 0.0
    run(folder, plan(budget_env_steps=3 * BATCH, checkpoint_every_env_steps=BATCH, optimiser=OptimiserSettings()))
    peak.at = sum(float(torch.as_tensor(value).abs().sum()) for value in weights_at(folder, 3 * BATCH).values())


@pytest.fixture(scope="module")
def whole(tmp_path_factory, peak_in_the_middle):
    folder = tmp_path_factory.mktemp("whole") / "walkers-seed0"
    run(folder, Curriculum((Stage(name="calm", plan=chosen_plan()), Stage(name="again", plan=chosen_plan()))))
    return folder


def best_of(folder, first, last):
    """Env steps of the best validation between two moments."""
    found = {env_steps: fit for env_steps, fit in fits(folder).items() if first < env_steps <= last}
    return max(found, key=found.__getitem__)


@pytest.mark.parametrize(
    ("validated", "chooses_last", "chosen"),
    [((np.nan, 2, np.nan, 3, 1, np.nan), False, 4), ((1, 3, 2, 3, 1, 1), False, 2), ((1, 3, 2, 3, 1, 1), True, 4)],
)
def test_no_number_is_never_chosen_and_of_equally_good_weights_the_first_or_the_last(
    validated, chooses_last, chosen, tmp_path
):
    values = iter(validated)
    declared = dataclasses.replace(
        chosen_plan(), validate=lambda policy: {"fit": np.array([float(next(values))])}, chooses_last=chooses_last
    )
    run(tmp_path, declared)
    state = load_state(newest_complete_checkpoint(tmp_path / "checkpoints"))
    assert state["choice"] == {"value": 3.0, "env_steps": chosen * BATCH}


def test_the_best_validated_weights_are_handed_on_and_not_the_last(whole):
    best = best_of(whole, 0, STEPS * BATCH)
    assert best == 3 * BATCH
    state = load_state(newest_complete_checkpoint(whole / "checkpoints"))
    assert [(end["env_steps"], end["chosen"]) for end in state["curriculum"]["ended"]] == [(STEPS * BATCH, best)]


def test_the_best_validated_weights_are_tested_and_loaded(whole):
    best = best_of(whole, STEPS * BATCH, 2 * STEPS * BATCH)
    assert best < 2 * STEPS * BATCH
    assert chosen_checkpoint(whole) == get_checkpoint_path(whole / "checkpoints", best)
    policy = chosen_plan().build_policy()
    policy.load_state_dict(weights_at(whole, best))
    (line,) = read_test_results(whole)
    assert (line.env_steps, line.value) == (best, pytest.approx(play(policy, "calm")["success"].mean()))


class LearnsOn(LocalAlgorithm):
    """Learns whenever it is asked for something, as IMPALA's thread does behind the back of whoever asks."""

    def checkpoint(self):
        self.train()
        return copy.deepcopy(super().checkpoint())

    def policy(self, weights=None):
        self.train()
        policy = copy.deepcopy(super().policy())
        if weights is not None:
            policy.load_state_dict(weights)
        return policy


def test_the_best_weights_are_those_whose_validation_was_best_though_the_learner_goes_on(tmp_path):
    validated = []

    def validate(policy):
        validated.append({name: value.clone() for name, value in policy.state_dict().items()})
        return {"fit": np.array([-abs(len(validated) - 2.0)])}

    declared = dataclasses.replace(
        chosen_plan(), validate=validate, make_algorithm=functools.partial(make_local, kind=LearnsOn)
    )
    run(tmp_path, dataclasses.replace(declared, budget_env_steps=10 * BATCH))
    assert len(validated) > 2
    best = best_of(tmp_path, 0, 10 * BATCH)
    assert fits(tmp_path)[best] == 0.0 and chosen_checkpoint(tmp_path) == get_checkpoint_path(
        tmp_path / "checkpoints", best
    )
    for name, value in weights_at(tmp_path, best).items():
        assert torch.equal(torch.as_tensor(value), validated[1][name]), name


def test_a_plan_that_chooses_by_what_is_not_measured_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"valid/win_rate.*valid/fit"):
        run(tmp_path, dataclasses.replace(chosen_plan(), chosen_by="win_rate"))
