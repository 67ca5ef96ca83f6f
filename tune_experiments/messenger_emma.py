"""MESSENGER with EMMA: the manual says who is who, and new games give entities new roles (Hanjie et al., 2021).

    python tune_experiments/messenger_emma.py                              # laptop: stage 1, minutes on 2 cores
    python tune_experiments/messenger_emma.py --preset stages              # stages 1, 2 and 3: two hours of one core
    python tune_experiments/messenger_emma.py --preset smoke               # under 2 minutes, learns nothing
    python tune_experiments/messenger_emma.py --preset reference           # the release's constants, frozen BERT: days
    python tune_experiments/messenger_emma.py --preset paper               # the paper's network, larger batches: a GPU
    MESSENGER_TEXT_DIR=FOLDER python tune_experiments/messenger_emma.py --texts published

Rows: `game_id` is told each role's entity by number and reads nothing; `emma` reads the manual; `emma_grounding` is
EMMA with a contrastive loss, not in the paper, that ties sprites to the sentences about them. Weights are chosen
by the win rate in validation games. Columns: training games; `test`, new games in new sentences, where every entity has
a role that it never has in training; the same with permuted roles, where the manual tells of another game; and beside
them random play. `test_se` (stage 2) has new games that move as in training.
"""

from __future__ import annotations

import dataclasses
import sys

from rl_models.language.choice import BERT, TextEncoderConfig
from rl_models.networks.emma_body import RELEASED, EmmaConfig
from rl_models.rllib.settings import Workers
from tune_experiments.common.experiment import Experiment
from tune_experiments.common.main import main
from tune_experiments.common.messenger import pictures
from tune_experiments.common.messenger.config import LearnerSettings, MessengerConfig, make_world
from tune_experiments.common.messenger.departures import departures
from tune_experiments.common.messenger.evaluation import test
from tune_experiments.common.messenger.tables import tables
from tune_experiments.common.messenger.trials import plan

CAPTION = "MESSENGER: win rates of EMMA and a baseline that does not read"
LAPTOP = MessengerConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    stages=(1, 2, 3),
    max_sentences_per_cell=2,
    encoder=TextEncoderConfig(word_features=4),
    network=EmmaConfig(features=4, maps=2, hidden=4),
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    first_stage_env_steps=256,
    budget_env_steps=128,
    validations=2,
    valid_episodes=8,
    checkpoints=1,
    test_episodes=16,
)
STAGES = dataclasses.replace(
    LAPTOP,
    methods=("emma_grounding",),
    stages=(1, 2, 3),
    learner=LearnerSettings(
        gamma=(0.8, 0.99, 1.0),
        lambda_=0.98,
        minibatches=(16, 16, 4),
        entropy_weight=(0.2, 0.02, 0.02),
        final_entropy_weight=(0.1, 0.005, 0.005),
    ),
    workers=Workers(worlds_per_runner=128, fragment_length=32),
    first_stage_env_steps=200_000,
    budget_env_steps=4_000_000,
    validations=40,
)
"""Stage 3 wants long fragments of many worlds, and no discount: with one, running away until the limit loses less than
trying."""
RELEASED_ENTROPY = (0.01, 0.01, 0.01)
RELEASED_LEARNER = LearnerSettings(
    learning_rate=5e-5,
    final_learning_rate_share=1.0,
    lambda_=1.0,
    clip=0.1,
    epochs=4,
    minibatches=(1, 1, 1),
    entropy_weight=RELEASED_ENTROPY,
    final_entropy_weight=RELEASED_ENTROPY,
    clip_gradient=0.0,
)
REFERENCE = dataclasses.replace(
    LAPTOP,
    methods=("game_id", "emma"),
    stages=(1, 2, 3),
    encoder=TextEncoderConfig(BERT, padded_to=36),
    network=RELEASED,
    freezes_attention=True,
    learner=RELEASED_LEARNER,
    workers=Workers(worlds_per_runner=1, fragment_length=64),
    first_stage_env_steps=30_000_000,
    budget_env_steps=50_000_000,
    validations=300,
)
PAPER = dataclasses.replace(
    REFERENCE,
    encoder=TextEncoderConfig(BERT),
    network=EmmaConfig(),
    learner=dataclasses.replace(
        RELEASED_LEARNER,
        learning_rate=3e-4,
        final_learning_rate_share=0.05,
        lambda_=0.95,
        minibatches=(16, 16, 16),
        clip_gradient=1.0,
    ),
    workers=Workers(runners=4, worlds_per_runner=64, fragment_length=16, learners=1, gpus_per_learner=1.0),
)
"""As the release, but for 4,096 env steps an update in minibatches of 256, and GAE."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "stages": STAGES, "reference": REFERENCE, "paper": PAPER}

EXPERIMENT = Experiment(
    name="messenger_emma",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=lambda config, policy: test(config, config.last_stage, policy),
    departures=lambda config: departures(config, REFERENCE),
    tables=lambda results: tables(results, CAPTION),
    draw=pictures.draw,
    film=pictures.film,
    make_test_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="test"),
    make_valid_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="val"),
    is_greedy=True,
    columns={"return": "episode/return", "win rate": "episode/win_rate", "validation": "valid/win_rate"},
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
