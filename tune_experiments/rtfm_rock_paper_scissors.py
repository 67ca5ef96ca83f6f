"""Rock-paper-scissors with letters: win rates in games with unseen rules (RTFM, figures 10 to 12).

    python tune_experiments/rtfm_rock_paper_scissors.py                      # laptop: 15 minutes a seed on 2 cores
    python tune_experiments/rtfm_rock_paper_scissors.py --preset smoke       # under 2 minutes, learns nothing
    python tune_experiments/rtfm_rock_paper_scissors.py --preset paper       # the paper's sizes: a GPU, days
    python tune_experiments/rtfm_rock_paper_scissors.py --task.setting permutation     # the paper's five letters
    python tune_experiments/rtfm_rock_paper_scissors.py --methods matching             # our reader: 2 minutes a seed

A document says in three sentences which letter beats which. `eval` are games of another half of the circles of letters;
`shuffled` are these with another game's document, where a team that reads falls to `without reading`: the optimum for
an agent that observes only the grid, since the item with the dragon's own letter is never right. `optimum` knows the
answer. Both are computed, for rooms of any size.

The laptop has ten letters where the paper has five: with the answers as labels, small readers generalised from 120
circles, but hardly from ten. Other settings of the paper are `new_edge` and `new_edge_and_nodes`.

`matching` is ours: the mention-matching reader, which learns to read from reward only, with its own learner and budget
under `--matching`. `random` moves uniformly.

Three ablations remove one of its comparisons: `matching_two_tables` has a separate table of words for documents,
`matching_two_tables_contrastive` adds a loss without labels, and in `matching_as_vector` nodes get the words around a
mention as vectors. Two are about letters that are not in training: in `matching_named` nodes contain the vectors of
letters, of any length, and in `matching_frozen_words` these stay random.

Three methods give txt2pi one component of the reader each: `txt2pi_shared_words` also compares a cell with words in the
one table of both, `txt2pi_contrastive` has the loss without labels, and `txt2pi_attention_warm_start` first learns to
attend to mentions of the dragon, as the untrained reader does.

`txt2pi_supervised_attention` is not the paper's. It is txt2pi with an auxiliary loss in training, which names the word
of the document to attend to. The network does not observe this word, and test games do not contain it.

Figure 11 compares the speed of learning unseen games, after training on seen games and from scratch:

    python tune_experiments/rtfm_rock_paper_scissors.py --methods txt2pi_transferred txt2pi_from_scratch

Figure 12 has txt2pi's ablations, as in `rtfm_txt2pi.py`:

    python tune_experiments/rtfm_rock_paper_scissors.py --methods txt2pi no_task_attn no_vis_attn no_text_mod
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_models.rllib.workers import Workers
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import main
from tune_experiments.rtfm.config import (
    HELPED,
    PAPER_LEARNER,
    PAPER_NETWORK,
    PAPER_WORKERS,
    RANDOM,
    SUPERVISED,
    LettersConfig,
    LettersTask,
    NetworkSettings,
    as_learned,
)
from tune_experiments.rtfm.matching import MATCHING_NOTE
from tune_experiments.rtfm.matching_config import CHANGES, SMOKE_MATCHING
from tune_experiments.rtfm.reading_experiments import ReadingExperiment

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.rtfm import evaluation, trials
else:
    trials = LazyModule("tune_experiments.rtfm.trials")
    evaluation = LazyModule("tune_experiments.rtfm.evaluation")

LAPTOP = LettersConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("matching", "txt2pi_supervised_attention"),
    task=LettersTask(size=5, max_episode_steps=10),
    network=NetworkSettings(
        word_features=6, document_hidden_size=4, goal_hidden_size=4, inventory_hidden_size=3, features=8
    ),
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=512,
    transfer_env_steps=256,
    matching=dataclasses.replace(SMOKE_MATCHING, learner=LAPTOP.matching.learner),
    validate_every_env_steps=256,
    valid_episodes=8,
    checkpoint_every_env_steps=256,
    test_sizes=(5,),
    test_episodes=16,
)
PAPER = LettersConfig(
    methods=("cnn", "film", "txt2pi"),
    task=LettersTask(size=10, setting="permutation", max_episode_steps=1000),
    network=dataclasses.replace(PAPER_NETWORK, word_features=10, features=300),
    learner=dataclasses.replace(PAPER_LEARNER, final_learning_rate_share=0.5),  # falls over 100 million frames
    workers=PAPER_WORKERS,
    budget_env_steps=50_000_000,
    transfer_env_steps=50_000_000,
    validate_every_env_steps=2_000_000,
    checkpoint_every_env_steps=1_000_000,
    test_sizes=(9, 10, 11),
)


class RtfmRockPaperScissors(ReadingExperiment[LettersConfig]):
    """Readers, baselines, supervised attention, and transfer to unseen games."""

    name = "rtfm_rock_paper_scissors"
    caption = "Rock-paper-scissors: win rates in games that were trained on and in unseen ones"
    compared = (
        ("txt2pi_supervised_attention", "txt2pi"),
        ("txt2pi_shared_words", "txt2pi"),
        ("matching_two_tables", "matching"),
        ("matching_named", "matching"),
    )
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}

    def plan(
        self, config: LettersConfig, method: Any, seed: int, trial_folder: Path | None = None
    ) -> TrialPlan | Curriculum:
        """Training on one game, or on two in sequence."""
        return trials.plan_letters(config, method, seed)

    def evaluate(self, config: LettersConfig, method: str, policy: TeamPolicy) -> Tests:
        """Evaluate readers greedily, and uniform moves by sampling."""
        return evaluation.evaluate(config, policy, is_greedy=method != RANDOM)

    @staticmethod
    def _is_of_the_reader(config: LettersConfig) -> bool:
        rows = set(config.methods) - {RANDOM}
        return bool(rows) and rows <= set(CHANGES)

    def deviation_notes(self, config: LettersConfig) -> list[str]:
        """Deviations of all experiments that read, and of the methods that are not the paper's."""
        supervision = (
            f"{SUPERVISED}: attention supervision of weight {config.attention_coef}, an auxiliary loss in "
            "training that says which word of the document answers; the paper has none"
        )
        helped = {row: f"{row}: txt2pi with an addition of ours: {part}" for row, part in HELPED.items()}
        notes: dict[str, str] = {SUPERVISED: supervision}
        notes.update(helped, **dict.fromkeys(CHANGES, MATCHING_NOTE))
        shown = (note for row, note in notes.items() if row in config.methods)
        return [*super().deviation_notes(self.as_learned(config)), *dict.fromkeys(shown)]

    def as_learned(self, config: LettersConfig) -> LettersConfig:
        """The configuration with the reader's learner if all methods are the reader's."""
        if not self._is_of_the_reader(config):
            return config
        network, budget = self.presets["paper"].network, config.matching.budget_env_steps
        return as_learned(config, network=network, budget_env_steps=budget)


EXPERIMENT = RtfmRockPaperScissors()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
