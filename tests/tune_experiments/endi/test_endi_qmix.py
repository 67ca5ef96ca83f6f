"""EnDi's row `qmix`: what it is trained with, and that it goes through the experiment like any other row."""

import dataclasses

import numpy as np
import pytest

from rl_models.algorithms.qmix import Qmix
from rl_models.networks.qmix_policy import QmixPolicy
from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint
from tests.tune_experiments.run.stages import make_local
from tune_experiments.endi.rtfm_config import QmixSettings
from tune_experiments.endi.rtfm_trials import columns
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import load_policy
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial

RTFM = find_experiment("endi_rtfm")


def config(preset="smoke", **changes):
    return dataclasses.replace(RTFM.presets[preset], **({"methods": ("qmix",), "stages": (1,)} | changes))


def plan_of(one, seed=0):
    return RTFM.plan(one, "qmix", seed).stages[-1].plan


@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_it_is_qmix_in_the_first_stage_without_distractors(preset):
    plan = plan_of(config(preset))
    assert isinstance(plan.objective, Qmix)
    assert isinstance(plan.build_policy(), QmixPolicy)
    assert plan.objective.texts == ("goal",)
    world = plan.make_world(num_worlds=1, first_world=0)
    world.reset(0)
    assert world.state["monster_cells"].shape == world.state["item_cells"].shape == (1, 2)


def test_it_updates_as_often_as_env_steps_say():
    one = config(qmix=QmixSettings(train_every_env_steps=32))
    assert (one.workers.worlds_per_runner, one.workers.fragment_length) == (16, 8)
    assert plan_of(one).objective.gradient_steps == 4
    assert plan_of(config(qmix=QmixSettings(train_every_env_steps=10_000))).objective.gradient_steps == 1


def test_a_whole_trial_trains_tests_and_is_played_from_its_checkpoint(tmp_path, monkeypatch):
    """Through the trial's own machinery: log, validation, checkpoint with the replay, tests in every column."""
    one = config(qmix=QmixSettings(hidden_size=8, cell_features=(8, 8), exploration_env_steps=128))
    monkeypatch.setattr("rl_models.rllib.team_algorithm.TeamAlgorithm", make_local)
    Trial(RTFM, one, "qmix", 0, tmp_path).run(lambda row: None)
    checkpoint = load_checkpoint(newest_complete_checkpoint(tmp_path / "checkpoints"))
    assert len(checkpoint.tensors["replay"]["reward"]) == 16
    played = load_policy(tmp_path)
    world = played.make_world(3)
    obs = world.reset(0)
    played.reset(0, texts=world.texts)
    actions = played.act(obs)
    assert np.take_along_axis(obs["legal"], actions[..., None], -1).all()
    assert played.policy.policy_head.epsilon.item() == pytest.approx(0.05)
    won = [result for result in read_test_results(tmp_path) if result.metric == "win_rate" and result.method == "qmix"]
    assert len(won) == len(columns(one)) == len({(result.world, result.condition) for result in won})
