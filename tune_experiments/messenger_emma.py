"""MESSENGER with EMMA: the manual says who is who, and new games give entities new roles (Hanjie et al., 2021).

    python tune_experiments/messenger_emma.py                              # laptop: stage 1, minutes on 2 cores
    python tune_experiments/messenger_emma.py --preset stages              # stages 1, 2 and 3: two hours of one core
    python tune_experiments/messenger_emma.py --preset smoke               # under 2 minutes, learns nothing
    python tune_experiments/messenger_emma.py --preset reference           # the release's constants, frozen BERT: days
    python tune_experiments/messenger_emma.py --preset paper               # the paper's network, larger batches: a GPU
    MESSENGER_TEXT_DIR=FOLDER python tune_experiments/messenger_emma.py --texts published

Methods: `game_id` observes the symbol of each role and reads nothing; `emma` reads the manual; `emma_grounding` is EMMA
with a contrastive loss, not in the paper, that ties sprites to the sentences about them. In `emma_movement_grounding`
queries also contain how a sprite moves, and a second contrast teaches words of movement: in stage 3 a message and its
decoy have the same symbol, and the manual distinguishes them only by their movements (`--frames 4` shows more of them
than 3). Weights are chosen by the win rate in validation games. Columns: training games; `test`, new games in new
sentences, where every entity has a role that it never has in training; these with permuted roles, where the manual
describes another game; and random play. `test_se` (stage 2) has new games with the movements of training. Two more
tables show the causes of lost games (the enemy, a decoy, the goal without the message, or time), and whether sprites
attend to the sentences about them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.metrics import PROPORTION
from rl_envs.messenger.world import Messenger
from rl_models.rllib.workers import Workers
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import main
from tune_experiments.messenger.config import (
    GROUNDED,
    MOVING,
    MessengerConfig,
    MessengerLearnerConfig,
    paper,
    reference,
    smoke,
)
from tune_experiments.messenger.messenger_experiment import (
    MessengerExperiment,
    compare_optimiser_steps,
    deviation_notes,
    movement_notes,
)
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import first_trained
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.messenger import figures, trials
    from tune_experiments.messenger import tables as stage_tables
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
else:
    trials = LazyModule("tune_experiments.messenger.trials")
    stage_tables = LazyModule("tune_experiments.messenger.tables")
    figures = LazyModule("tune_experiments.messenger.figures")

LAPTOP = MessengerConfig()
STAGES = dataclasses.replace(
    LAPTOP,
    methods=("emma_grounding",),
    stages=(1, 2, 3),
    learner=MessengerLearnerConfig(
        gamma=(0.8, 0.99, 1.0),
        gae_lambda=0.98,
        num_minibatches=(16, 16, 4),
        entropy_coef=(0.2, 0.02, 0.02),
        final_entropy_coef=(0.1, 0.005, 0.005),
    ),
    workers=Workers(worlds_per_runner=128, fragment_length=32),
    first_stage_env_steps=200_000,
    budget_env_steps=4_000_000,
    first_stage_validate_every_env_steps=5_000,
    validate_every_env_steps=100_000,
    first_stage_checkpoint_every_env_steps=40_000,
    checkpoint_every_env_steps=800_000,
)
"""Stage 3 needs long fragments of many worlds, and no discount: with one, running away until the limit costs less than
trying."""
REFERENCE = reference(dataclasses.replace(LAPTOP, methods=("game_id", "emma")))
PRESETS = {
    "smoke": smoke(dataclasses.replace(LAPTOP, methods=("game_id", "emma_grounding"))),
    "laptop": LAPTOP,
    "stages": STAGES,
    "reference": REFERENCE,
    "paper": paper(REFERENCE),
}


class MessengerEmma(MessengerExperiment[MessengerConfig]):
    """A baseline that does not read, EMMA, and EMMA with a contrastive grounding loss."""

    metric_ranges = Messenger.metric_ranges | {"reads_*": PROPORTION}
    name = "messenger_emma"
    caption = "MESSENGER: win rates of EMMA and a baseline that does not read"
    compared = ("emma_grounding", "emma")
    presets = PRESETS
    reference_preset = "reference"
    columns = {"return": "episode/return", "win rate": "episode/win_rate", "validation": "valid/win_rate"}

    def compared_methods(self, config: MessengerConfig) -> tuple[str, str]:
        """Methods with and without movements in queries, if both are trained; else `compared`."""
        return first_trained([(f"{MOVING}{GROUNDED}", "emma_grounding")], config.methods) or self.compared

    def plan(self, config: MessengerConfig, method: str, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """The stages, each by PPO."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: MessengerConfig, method: str, policy: TeamPolicy) -> Tests:
        """Training games, new games, and these with permuted roles; and attention, for methods that read."""
        return trials.choose_evaluation(method)(config, config.last_stage, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates, a table a stage; then causes of lost games, and attention of sprites."""
        caption = self.caption
        made = (stage_tables.tables, stage_tables.endings_table, stage_tables.reading_table)
        return [table for make in made for table in make(results, caption)]

    def deviation_notes(self, config: MessengerConfig) -> Sequence[str]:
        """Deviations that no flag shows."""
        return [*movement_notes(config), *deviation_notes(config)]

    def optimiser_steps(self, config: MessengerConfig) -> str:
        """Optimiser steps of the first stage, compared with those of the release."""
        return compare_optimiser_steps(config, REFERENCE)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, and an episode of each method."""
        return figures.draw(run_folder, trials)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """An episode with its manual and the attention of sprites, [H, W, 3] uint8 a frame."""
        return figures.video(loaded, seed)


EXPERIMENT = MessengerEmma()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
