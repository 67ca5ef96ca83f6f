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

from rl_models.rllib.workers import Workers
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.messenger import figures
from tune_experiments.messenger.config import LearnerSettings, MessengerConfig, make_world
from tune_experiments.messenger.deviations import departures
from tune_experiments.messenger.evaluation import test
from tune_experiments.messenger.presets import paper, reference, smoke
from tune_experiments.messenger.tables import tables
from tune_experiments.messenger.trials import plan
from tune_experiments.run.main import main

CAPTION = "MESSENGER: win rates of EMMA and a baseline that does not read"
LAPTOP = MessengerConfig()
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
REFERENCE = reference(dataclasses.replace(LAPTOP, methods=("game_id", "emma")))
PRESETS = {
    "smoke": smoke(LAPTOP),
    "laptop": LAPTOP,
    "stages": STAGES,
    "reference": REFERENCE,
    "paper": paper(REFERENCE),
}

EXPERIMENT = Experiment(
    name="messenger_emma",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=lambda config, policy: test(config, config.last_stage, policy),
    departures=lambda config: departures(config, REFERENCE),
    tables=lambda results: tables(results, CAPTION),
    draw=figures.draw,
    film=figures.film,
    make_test_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="test"),
    make_valid_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="val"),
    is_greedy=True,
    columns={"return": "episode/return", "win rate": "episode/win_rate", "validation": "valid/win_rate"},
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
