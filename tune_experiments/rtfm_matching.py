"""Read to Fight Monsters with the mention-matching reader, which is ours and learns to read from reward only.

    python tune_experiments/rtfm_matching.py                                    # laptop: ten minutes on 2 cores
    python tune_experiments/rtfm_matching.py --stages simplest group nl dyna    # to the full game: minutes a seed
    python tune_experiments/rtfm_matching.py --stages simplest group nl dyna 10x10
    python tune_experiments/rtfm_matching.py --methods matching matching_named matching_frozen_words
    python tune_experiments/rtfm_matching.py --preset smoke                     # under 2 minutes, learns nothing

The laptop preset trains on the simplest game only. A stage adds one difficulty: several names a team and element
(`group`), natural language (`nl`), moving monsters (`dyna`), a larger room (`10x10`). Columns are training assignments,
those of validation, the test's (`eval`), the test's with names that are not in training (`eval_new`), in a larger room,
and with another game's document (`shuffled`), where a policy that reads must lose. New names can be read because word
vectors have length 1 and nodes do not contain those of names: in `matching_named` they have any length and nodes
contain them, in `matching_frozen_words` words stay random.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_envs import World
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison, first_trained
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.rtfm import matching as stages
from tune_experiments.rtfm.config import NEW_NAMES, column
from tune_experiments.rtfm.matching import MATCHING, MATCHING_NOTE, MatchingRtfmConfig
from tune_experiments.rtfm.matching_config import CHANGES, SMOKE_MATCHING
from tune_experiments.rtfm.reading_experiments import ReadingExperiment

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

LAPTOP = MatchingRtfmConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    stages=("simplest", "group"),
    task=dataclasses.replace(LAPTOP.task, max_episode_steps=10),
    matching=dataclasses.replace(SMOKE_MATCHING, learner=LAPTOP.matching.learner),
    budget_env_steps=256,
    validate_every_env_steps=256,
    valid_episodes=8,
    checkpoint_every_env_steps=256,
    test_episodes=16,
    larger_sizes=(7,),
)


class RtfmMatching(ReadingExperiment[MatchingRtfmConfig]):
    """The mention-matching reader, stage by stage."""

    name = "rtfm_matching"
    caption = "RTFM: win rates of the mention-matching reader, by reward alone"
    compared = tuple((row, MATCHING) for row in CHANGES if row != MATCHING)
    presets = {"smoke": SMOKE, "laptop": LAPTOP}
    seeds = (0, 1, 2, 3, 4)

    def plan(self, config: MatchingRtfmConfig, method: Any, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """Each method goes through all stages."""
        return stages.plan(config, method, seed)

    def evaluate(self, config: MatchingRtfmConfig, method: str, policy: TeamPolicy) -> Tests:
        """The last stage's game, with new names, larger rooms and wrong documents."""
        return stages.evaluate_last(config, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates after the last stage, and after the earlier stages."""
        return [*super().tables(results), *stages.stage_tables(results, self.caption)]

    def main_comparisons(self, config: MatchingRtfmConfig) -> Sequence[MainComparison]:
        """An ablation against the reader, on new names; none if only the reader is trained."""
        names = column(NEW_NAMES, stages.at_stage(config).task.size)
        pair = first_trained(self.compared, config.methods)
        return (MainComparison(*pair, "win_rate", names),) if pair else ()

    def deviation_notes(self, config: MatchingRtfmConfig) -> list[str]:
        """Deviations from the paper, which only provides the game."""
        return [MATCHING_NOTE, "validation and test assignments are parts of the paper's evaluation half"]

    def test_world(self, config: MatchingRtfmConfig, num_worlds: int, method: str = "") -> World:
        """Test assignments of the last stage."""
        return super().test_world(stages.at_stage(config), num_worlds, method)


EXPERIMENT = RtfmMatching()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
