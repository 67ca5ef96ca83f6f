"""Presets that all experiments in MESSENGER have, made from their laptop's: smoke, the release's constants, the paper.

Constants of training are those of EMMA's release; EnDi's, a fork of it, has them too.
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from rl_models.networks.network_config import RELEASED, EmmaConfig
from rl_models.rllib.workers import Workers
from rl_models.text.choice import BERT, TextEncoderConfig
from tune_experiments.messenger.config import MessengerLearnerConfig, MessengerRunConfig

ConfigType = TypeVar("ConfigType", bound=MessengerRunConfig)
_ENTROPY = (0.01, 0.01, 0.01)
RELEASED_LEARNER = MessengerLearnerConfig(
    learning_rate=5e-5,
    final_learning_rate_share=1.0,
    gae_lambda=1.0,
    clip_range=0.1,
    num_epochs=4,
    num_minibatches=(1, 1, 1),
    entropy_coef=_ENTROPY,
    final_entropy_coef=_ENTROPY,
    max_grad_norm=0.0,
)


def smoke(laptop: ConfigType) -> ConfigType:
    """All three stages with tiny networks, which learn nothing."""
    return dataclasses.replace(
        laptop,
        stages=(1, 2, 3),
        max_sentences_per_cell=2,
        encoder=TextEncoderConfig(word_features=4),
        network=EmmaConfig(features=4, channels=2, hidden_size=4),
        workers=Workers(worlds_per_runner=16, fragment_length=8),
        first_stage_env_steps=256,
        budget_env_steps=128,
        first_stage_validate_every_env_steps=128,
        validate_every_env_steps=64,
        valid_episodes=8,
        first_stage_checkpoint_every_env_steps=256,
        checkpoint_every_env_steps=128,
        test_episodes=16,
    )


def reference(laptop: ConfigType, learner: MessengerLearnerConfig = RELEASED_LEARNER) -> ConfigType:
    """The release: one world, 64 env steps an update, frozen BERT."""
    return dataclasses.replace(
        laptop,
        stages=(1, 2, 3),
        encoder=TextEncoderConfig(BERT, padded_to=36),
        network=RELEASED,
        freezes_attention=True,
        learner=learner,
        workers=Workers(worlds_per_runner=1, fragment_length=64),
        first_stage_env_steps=30_000_000,
        budget_env_steps=50_000_000,
        first_stage_validate_every_env_steps=100_000,
        validate_every_env_steps=166_667,
        first_stage_checkpoint_every_env_steps=6_000_000,
        checkpoint_every_env_steps=10_000_000,
    )


def paper(released: ConfigType) -> ConfigType:
    """The release with the paper's network, 4,096 env steps an update in minibatches of 256, and GAE."""
    return dataclasses.replace(
        released,
        encoder=TextEncoderConfig(BERT),
        network=EmmaConfig(),
        learner=dataclasses.replace(
            released.learner,
            learning_rate=3e-4,
            final_learning_rate_share=0.05,
            gae_lambda=0.95,
            num_minibatches=(16, 16, 16),
            max_grad_norm=1.0,
        ),
        workers=Workers(runners=4, worlds_per_runner=64, fragment_length=16, learners=1, gpus_per_learner=1.0),
    )
