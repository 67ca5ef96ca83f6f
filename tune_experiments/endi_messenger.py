"""EnDi in MESSENGER with two agents: entities divided between agents that read (EnDi, 2023, tables 1, 3, 4, 5, fig. 8).

    python tune_experiments/endi_messenger.py                              # laptop: stage 1, minutes a row on 2 cores
    python tune_experiments/endi_messenger.py --stages 1 2 3               # then stages 2 and 3, hours
    python tune_experiments/endi_messenger.py --weights last               # without choosing weights by validation
    python tune_experiments/endi_messenger.py --preset smoke               # under 2 minutes, learns nothing
    python tune_experiments/endi_messenger.py --preset reference           # the release's constants, frozen BERT: days
    python tune_experiments/endi_messenger.py --preset paper               # the paper's network, larger batches: a GPU

Rows: `emma` and `silg` without a divider; `endi_num` and `endi_dis` with the paper's two regularisers; `endi_sup`
without agent modelling, `endi_reg` without a regulariser; `..._grounding` with a contrastive loss, not in the paper,
that ties sprites to the sentences about them. Further rows: `endi_dis_balance` (the release's form of `dis`),
`endi_kl`. Columns are training games, unseen ones in unseen sentences (zero-shot), the same with permuted roles, where
the manual tells of another game. A second table says how entities were divided: masks are drawn as in the paper, or
the likelier side is taken with `--division.masks likeliest`.
"""

from __future__ import annotations

import dataclasses
import sys

from rl_models.language.choice import BERT, TextEncoderConfig
from rl_models.networks.emma_body import RELEASED, EmmaConfig
from rl_models.networks.txt2pi import SilgConfig
from rl_models.rllib.settings import Workers
from tune_experiments.common.endi import messenger_pictures as pictures
from tune_experiments.common.endi.messenger_config import PAPER_ROWS, EndiMessengerConfig
from tune_experiments.common.endi.messenger_tables import departures, tables
from tune_experiments.common.endi.messenger_trials import plan, test
from tune_experiments.common.experiment import Experiment
from tune_experiments.common.main import main
from tune_experiments.common.messenger.config import LearnerSettings, make_world

CAPTION = "Two-agent MESSENGER: win rates of EnDi and its backbone"
LAPTOP = EndiMessengerConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("emma", "endi_dis_grounding"),
    stages=(1, 3),
    max_sentences_per_cell=2,
    encoder=TextEncoderConfig(word_features=4),
    network=EmmaConfig(features=4, maps=2, hidden=4),
    goal_features=4,
    silg=SilgConfig(hidden=2, word_features=4, channels=(4, 4), features=4),
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    first_stage_env_steps=256,
    budget_env_steps=128,
    validations=2,
    valid_episodes=8,
    checkpoints=1,
    test_episodes=16,
)
RELEASED_ENTROPY = (0.01, 0.01, 0.01)
RELEASED_LEARNER = LearnerSettings(
    learning_rate=5e-5,
    final_learning_rate_share=1.0,
    gamma=(0.99, 0.99, 0.99),
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
    methods=PAPER_ROWS,
    stages=(1, 2, 3),
    encoder=TextEncoderConfig(BERT, padded_to=36),
    network=RELEASED,
    silg=SilgConfig(),
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
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "reference": REFERENCE, "paper": PAPER}
PAPER_NUMBERS = {
    1: {"emma": {"train": 0.57}, "endi_dis": {"test": 0.79}},
    2: {"emma": {"train": 0.04}, "endi_dis": {"test": 0.52}},
}
"""Stage -> row -> column -> win rate, those that the paper's text gives."""

EXPERIMENT = Experiment(
    name="endi_messenger",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=lambda config, policy: test(config, config.last_stage, policy),
    departures=lambda config: departures(config, REFERENCE),
    tables=lambda results: tables(results, CAPTION, PAPER_NUMBERS),
    draw=pictures.draw,
    film=pictures.film,
    make_test_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="test"),
    make_valid_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="val"),
    is_greedy=True,
    draws_noise=lambda config: config.division.draws_masks,
    columns={
        "win rate": "episode/win_rate",
        "validation": "valid/win_rate",
        "overlap": "division/overlap",
    },
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
