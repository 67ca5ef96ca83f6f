"""Base of EnDi's experiments in RTFM: everything except presets, captions and the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.rtfm.arena import Arena
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.endi.division import CURVES, DIVISION_RANGES, division_notes, division_table, on_matching
from tune_experiments.endi.rtfm_config import EndiRtfmConfig, make_stage
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import Experiment
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison, first_trained
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable
from tune_experiments.rtfm.config import SHUFFLED, as_learned
from tune_experiments.rtfm.matching import MATCHING, MATCHING_NOTE
from tune_experiments.rtfm.reading_experiments import compare_optimiser_steps
from tune_experiments.rtfm.reading_experiments import deviation_notes as of_rtfm

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.endi import episode_video
    from tune_experiments.endi import rtfm_trials as trials
    from tune_experiments.messenger import tables as stage_tables
    from tune_experiments.play.loading import LoadedPolicy
else:
    episode_video = LazyModule("tune_experiments.endi.episode_video")
    trials = LazyModule("tune_experiments.endi.rtfm_trials")
    stage_tables = LazyModule("tune_experiments.messenger.tables")

TESTED = (
    "Weights are the last ones. eval: unseen assignments; eval_new: with words that training never shows; then in a "
    "larger room; shuffled: unseen assignments with the document of another episode."
)
MATCHING_COMPARED = (("endi_dis_matching", MATCHING), ("endi_dis_weak_modelling_matching", MATCHING))
"""Main comparisons of runs with the mention-matching reader only; the first trained pair counts."""
DIVISION_WORLDS = {f"stage_{stage}_{name}": f"S{stage}, {name}" for stage in range(1, 6) for name in ("train", "eval")}


class EndiRtfmExperiment(Experiment[EndiRtfmConfig]):
    """One table on multi-agent RTFM; `paper` are stage -> method -> column of the table -> value in the paper.

    `compared` are the methods of the main comparison, on unseen assignments of the last stage.
    """

    paper: Mapping[int, PaperNumbers] = {}
    compared = ("endi_dis", "txt2pi")
    metric_ranges = Arena.metric_ranges | DIVISION_RANGES
    is_greedy = True
    columns = {"win rate": "episode/win_rate", "greedy": "valid/win_rate", "overlap": "division/overlap"}
    curves = CURVES | {"valid/unseen_win_rate": "win rate, unseen assignments (validation)"}
    frame_seconds = 0.8

    def plan(self, config: EndiRtfmConfig, method: str, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """The stages, each by independent learners, or by QMIX."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: EndiRtfmConfig, method: str, policy: TeamPolicy) -> Tests:
        """The last stage's tests: training and unseen assignments, new words, larger rooms, wrong documents."""
        return trials.evaluate(config, config.last_stage, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates, a table a stage; then the division of entities."""
        won = stage_tables.tables(results, self.caption, self.paper, TESTED, {SHUFFLED: SHUFFLED})
        return [*won, *division_table(results, self.caption, DIVISION_WORLDS)]

    def main_comparisons(self, config: EndiRtfmConfig) -> Sequence[MainComparison]:
        """Both methods on unseen assignments of the last stage; of the mention-matching reader if all have it."""
        stage = config.last_stage
        title = f"{self.caption}, stage {stage}"
        compared = self.compared
        if all(map(on_matching, config.methods)):
            compared = first_trained(MATCHING_COMPARED, config.methods) or MATCHING_COMPARED[0]
        return (MainComparison(*compared, "win_rate", f"stage_{stage}_eval", table=title),)

    def check(self, config: EndiRtfmConfig) -> None:
        """Build the worlds of all tests, to find errors before days of training.

        Raises ValueError for a room that is too small for a stage.
        """
        for stage in config.stages:
            for arguments in trials.columns(config).values():
                make_stage(config, stage, **arguments).reset(0)

    def deviation_notes(self, config: EndiRtfmConfig) -> list[str]:
        """Deviations of RTFM's experiments, of the reader and of the divider."""
        is_reader_alone = all(map(on_matching, config.methods))
        notes = of_rtfm(as_learned(config) if is_reader_alone else config)
        if any(map(on_matching, config.methods)):
            notes.append(MATCHING_NOTE)
            if config.matching.shares_network:
                notes.append("agents that read with it share one network; the paper's share nothing")
        return [*notes, *division_notes(config.division, config.methods)]

    def optimiser_steps(self, config: EndiRtfmConfig) -> str:
        """Optimiser steps of the first stage, compared with those of the preset `paper`."""
        own = config
        if all(map(on_matching, config.methods)):
            own = as_learned(config, first_stage_env_steps=config.matching.budget_env_steps)
        return compare_optimiser_steps(own, self.presets["paper"])

    def draws_noise(self, config: EndiRtfmConfig) -> bool:
        """Whether an evaluated team draws its masks."""
        return config.division.draws_masks

    def test_world(self, config: EndiRtfmConfig, num_worlds: int, method: str = "") -> Any:
        """Unseen assignments of the last stage."""
        return make_stage(config, config.last_stage, num_worlds, split="test")

    def spectator(self, loaded: LoadedPolicy) -> episode_video.DivisionSpectator:
        """Shows all agents' entities."""
        return episode_video.DivisionSpectator(loaded, episode_video.RTFM)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """An episode with all agents' entities, [H, W, 3] uint8 a frame."""
        return episode_video.video(loaded, episode_video.RTFM, seed)
