"""Readers by name in a text game that nobody who does not read can win (examples/signposts.py)."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.batch import forward, to_batch
from rl_models.networks.network_config import TextReaderConfig
from rl_models.schedule import Progress
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tests.rl_models.text.small import save_bert
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.teams.trials import plan, play

LAPTOP = find_experiment("train").presets["laptop"]
MANUAL_WORDS = ("red", "green", "door", "safe", "deadly")
SIGNPOSTS = dataclasses.replace(
    LAPTOP, env="examples.signposts:parallel_env", env_arguments='{"colours": 2}', max_sentences=2, max_words=16
)


def config_of(name, encoder="", **changes):
    reader = TextReaderConfig(name, word_features=16, features=32)
    network = dataclasses.replace(LAPTOP.network, reader=reader, text_encoder=encoder, hidden_sizes=(32,))
    learner = dataclasses.replace(LAPTOP.learner, learning_rate=1e-2, value_coef=0.25, num_epochs=4)
    return dataclasses.replace(SIGNPOSTS, network=network, learner=learner, budget_env_steps=12_000, **changes)


def learned(config, updates, seed=0):
    trial = plan(config, "ippo", seed)
    policy = trial.build_policy()
    collector = Collector(trial.make_world(num_worlds=64, first_world=0), policy, 4)
    collector.reset(seed)
    learner = Learner(policy, trial.objective, trial.optimiser)
    for _ in range(updates):
        learner.update([collector.collect()])
    return play(config, 128, 7, policy)["return"].mean()


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["emma", *(pytest.param(one, marks=pytest.mark.slow) for one in ("matching", "film2"))]
)
def test_a_reader_learns_by_reward_what_only_the_text_tells(name):
    assert learned(config_of(name), 40) > 0.8, "1.0 is perfect, and without reading it is 0"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emma", "matching"])
def test_a_reader_learns_from_the_states_of_a_frozen_encoder(name, tmp_path):
    save_bert(tmp_path, more_words=MANUAL_WORDS)
    config = config_of(name, str(tmp_path))
    # Not every seed reads so soon; what is shown is that these states can be read.
    assert any(learned(config, 60, seed) > 0.8 for seed in range(4))


def test_what_a_frozen_encoder_reads_reaches_the_policy(tmp_path):
    save_bert(tmp_path, more_words=MANUAL_WORDS)
    trial = plan(config_of("emma", str(tmp_path)), "ippo", 0)
    policy = trial.build_policy()
    collector = Collector(trial.make_world(num_worlds=32, first_world=0), policy, 1)
    collector.reset(0)
    batch = to_batch(collector.collect())
    doors = batch["obs/door"][:, 0].argmax(-1)
    alike = (doors == doors[0]).all(-1)
    assert len(torch.unique(batch["texts/manual"], dim=0)) == 4
    waiting = forward(policy, batch).policy.first_steps(1).log_prob(torch.zeros_like(batch["actions"]))
    assert len(torch.unique(waiting[alike].detach())) > 1, "before equal doors, it depends on the manual"


@pytest.mark.slow
def test_reading_is_needed():
    assert abs(learned(config_of("words"), 20)) < 0.2


@pytest.mark.long
@pytest.mark.parametrize(("row", "encoder"), [("ippo", True), ("tbone", False), ("sync_4", True), ("qmix", True)])
def test_every_row_reads_with_learned_words_and_with_a_frozen_encoder(row, encoder, tmp_path):
    if encoder:
        save_bert(tmp_path)
    config = config_of("emma", str(tmp_path) if encoder else "")
    trial = plan(config, row, 0)
    policy = trial.build_policy()
    collector = Collector(trial.make_world(num_worlds=4, first_world=0), policy, 6, trial.objective.needs_values)
    collector.reset(0)
    fragment = collector.collect()
    if row != "qmix":
        batch = trial.objective.prepare(to_batch(fragment))
        _, told = trial.objective.loss(forward(policy, batch), batch, Progress())
        assert float(told["policy/ratio_error"]) < 1e-5
    assert np.isfinite(float(Learner(policy, trial.objective, trial.optimiser).update([fragment])["loss/total"]))
