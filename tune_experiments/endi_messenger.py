"""EnDi in MESSENGER with two agents: entities divided between agents that read (EnDi, 2023, tables 1, 3, 4, 5, fig. 8).

    python tune_experiments/endi_messenger.py                              # laptop: stage 1, minutes a method
    python tune_experiments/endi_messenger.py --stages 1 2 3               # then stages 2 and 3, hours
    python tune_experiments/endi_messenger.py --weights last               # without choosing weights by validation
    python tune_experiments/endi_messenger.py --preset smoke               # under 2 minutes, learns nothing
    python tune_experiments/endi_messenger.py --preset reference           # the release's constants, frozen BERT: days
    python tune_experiments/endi_messenger.py --preset paper               # the paper's network, larger batches: a GPU

Methods: `emma` and `silg` without a divider; `endi_num` and `endi_dis` with the paper's two regularisers; `endi_sup`
without agent modelling, `endi_reg` without a regulariser; `..._grounding` with a contrastive loss, not in the paper,
that ties sprites to the sentences about them. Further methods: `endi_dis_balance` (the release's form of `dis`),
`endi_kl`. Columns are training games, unseen ones in unseen sentences (zero-shot), and these with permuted roles, where
the manual describes another game. A second table shows the division of entities: masks are sampled as in the paper, or
the more probable side is taken with `--division.masks argmax`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.messenger.world import Messenger
from rl_models.networks.network_config import SilgConfig
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.endi.division import CURVES, DIVISION_RANGES, division_notes, division_table
from tune_experiments.endi.messenger_config import PAPER_METHODS, EndiMessengerConfig
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import main
from tune_experiments.messenger.config import GROUNDED, RELEASED_LEARNER, paper, reference, smoke
from tune_experiments.messenger.messenger_experiment import (
    MessengerExperiment,
    compare_optimiser_steps,
    deviation_notes,
)
from tune_experiments.play.recording import SEED
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.endi import episode_video
    from tune_experiments.endi import messenger_trials as trials
    from tune_experiments.messenger import tables as stage_tables
    from tune_experiments.play.loading import LoadedPolicy
else:
    episode_video = LazyModule("tune_experiments.endi.episode_video")
    trials = LazyModule("tune_experiments.endi.messenger_trials")
    stage_tables = LazyModule("tune_experiments.messenger.tables")

LAPTOP = EndiMessengerConfig()
SMOKE = dataclasses.replace(
    smoke(LAPTOP),
    methods=("emma", "endi_dis_grounding"),
    stages=(1, 3),
    goal_features=4,
    silg=SilgConfig(hidden_size=2, word_features=4, channels=(4, 4), features=4),
)
REFERENCE = reference(
    dataclasses.replace(LAPTOP, methods=PAPER_METHODS, silg=SilgConfig()),
    dataclasses.replace(RELEASED_LEARNER, joint_ratio=False, gamma=(0.99, 0.99, 0.99)),
)
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "reference": REFERENCE, "paper": paper(REFERENCE)}
PAPER_NUMBERS = {
    1: {"emma": {"train": 0.57}, "endi_dis": {"test": 0.79}},
    2: {"emma": {"train": 0.04}, "endi_dis": {"test": 0.52}},
}
"""Stage -> method -> column -> win rate, those that the paper's text gives."""
CHOSEN = (
    "Tested weights are those with the best validation win rate, or the last ones where the run says `weights: last`: "
    "the paper has both."
)
DIVISION_WORLDS = {
    f"stage_{stage}_{column}": f"stage {stage}, {column}" for stage in (1, 2, 3) for column in ("train", "test")
}


class EndiMessenger(MessengerExperiment[EndiMessengerConfig]):
    """EnDi with its regularisers and ablations, and its backbone without a divider."""

    metric_ranges = Messenger.metric_ranges | DIVISION_RANGES
    name = "endi_messenger"
    caption = "Two-agent MESSENGER: win rates of EnDi and its backbone"
    compared = ("endi_dis_grounding", "emma_grounding")
    presets = PRESETS
    reference_preset = "reference"
    columns = {"win rate": "episode/win_rate", "validation": "valid/win_rate", "overlap": "division/overlap"}
    curves = CURVES | {"loss/grounding": "contrastive grounding loss"}
    frame_seconds = 0.8

    def plan(self, config: EndiMessengerConfig, method: str, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """The stages, each by PPO."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: EndiMessengerConfig, method: str, policy: TeamPolicy) -> Tests:
        """Training games, new games, and these with permuted roles."""
        return trials.evaluate(config, config.last_stage, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates, a table a stage; then the division of entities."""
        divided = division_table(results, self.caption, DIVISION_WORLDS)
        return [*stage_tables.tables(results, self.caption, PAPER_NUMBERS, CHOSEN), *divided]

    def deviation_notes(self, config: EndiMessengerConfig) -> Sequence[str]:
        """Deviations that no flag shows, and the appendix's two constants."""
        notes = deviation_notes(config)
        if any(row.endswith(GROUNDED) and row.startswith("endi") for row in config.methods):
            notes.insert(1, "methods endi_..._grounding: the divider finds sentences with the policy's symbols")
        rate, clip = config.learner.learning_rate, config.learner.clip_range
        notes.append(
            f"learning rate {rate}, clipping range {clip}: the appendix has 5e-05 (as 5 x 10^5) and epsilon 0.01"
        )
        notes.append("rules are the paper's (a lone agent on a right object wins nothing); the release's differ")
        return [*notes, *division_notes(config.division, config.methods)]

    def optimiser_steps(self, config: EndiMessengerConfig) -> str:
        """Optimiser steps of the first stage, compared with those of the release."""
        return compare_optimiser_steps(config, REFERENCE)

    def draws_noise(self, config: EndiMessengerConfig) -> bool:
        """Whether an evaluated team draws its masks."""
        return config.division.draws_masks

    def spectator(self, loaded: LoadedPolicy) -> episode_video.DivisionSpectator:
        """Shows all agents' entities."""
        return episode_video.DivisionSpectator(loaded, episode_video.MESSENGER)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """An episode with all agents' entities, [H, W, 3] uint8 a frame."""
        return episode_video.video(loaded, episode_video.MESSENGER, seed)


EXPERIMENT = EndiMessenger()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
