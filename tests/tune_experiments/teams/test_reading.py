"""A reader in a text game that nobody who does not read can win (examples/signposts.py)."""

import dataclasses

import pytest
import torch

from rl_models.batch import forward, to_batch
from rl_models.networks.network_config import TextReaderConfig
from tests.rl_models.text.small import save_bert
from tests.tune_experiments import fragments
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.teams.trials import plan, play

LAPTOP = find_experiment("train").presets["laptop"]
SIGNPOSTS = dataclasses.replace(
    LAPTOP, env="examples.signposts:parallel_env", env_arguments='{"colours": 2}', max_sentences=2, max_words=16
)


def config_of(encoder=""):
    reader = TextReaderConfig("emma", word_features=16, features=32)
    network = dataclasses.replace(LAPTOP.network, reader=reader, text_encoder=encoder, hidden_sizes=(32,))
    constants = {"learning_rate": 0.02, "value_coef": 0.25, "num_epochs": 4, "num_minibatches": 1}
    learner = dataclasses.replace(LAPTOP.learner, **constants)
    return dataclasses.replace(SIGNPOSTS, network=network, learner=learner, budget_env_steps=12_000)


@pytest.mark.long
def test_a_reader_learns_by_reward_what_only_the_text_tells():
    config = config_of()
    policy = fragments.learn(plan(config, "ippo", 0), updates=20, worlds=64, length=4)
    assert play(config, 128, 7, policy)["return"].mean() > 0.8, "1.0 is perfect, and without reading it is 0"


def test_what_a_frozen_encoder_reads_reaches_the_policy(tmp_path):
    save_bert(tmp_path, more_words=("red", "green", "door", "safe", "deadly"))
    policy, fragment = fragments.play(plan(config_of(str(tmp_path)), "ippo", 0), worlds=32, length=1)
    batch = to_batch(fragment)
    doors = batch["obs/door"][:, 0].argmax(-1)
    alike = (doors == doors[0]).all(-1)
    assert len(torch.unique(batch["texts/manual"], dim=0)) == 4
    waiting = forward(policy, batch).policy.first_steps(1).log_prob(torch.zeros_like(batch["actions"]))
    assert len(torch.unique(waiting[alike].detach())) > 1, "before equal doors, it depends on the manual"
