"""Base of the experiments on RTFM and rock-paper-scissors: everything except presets, captions and plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rl_envs import World
from rl_envs.core.metrics import SHARE
from rl_envs.rtfm.arena import Arena
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps, optimiser_steps
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.experiment.training_config import StagedExperimentConfig
from tune_experiments.launch.experiment import Experiment
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison, first_trained
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable
from tune_experiments.rtfm import stages
from tune_experiments.rtfm.config import TEST, UNSEEN, CurriculumConfig, RunConfig, column, get_split, make_world

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.rtfm import evaluation, figures, trials
else:
    trials = LazyModule("tune_experiments.rtfm.trials")
    evaluation = LazyModule("tune_experiments.rtfm.evaluation")
    figures = LazyModule("tune_experiments.rtfm.figures")

COLUMNS = {"return": "episode/return", "win rate": "episode/win_rate", "greedy": "valid/win_rate"}
Run = TypeVar("Run", bound=RunConfig)
RATE_OF_TEXT, RATE_OF_RELEASE = 0.005, 0.0007
GOAL_OF_TEXT, BASELINE_OF_TEXT = 10, 0.5


class ReadingExperiment(Experiment[Run]):
    """One table on RTFM or rock-paper-scissors; `paper` are method -> column of the table -> value in the paper.

    The first pair of `compared` methods that is trained is the main comparison, on unseen assignments.
    """

    paper: PaperNumbers | None = None
    compared: Sequence[tuple[str, str]]
    metric_ranges = Arena.metric_ranges | {f"{name}_sampled": SHARE for name in Arena.metric_names}
    is_greedy = True
    columns = COLUMNS

    def plan(self, config: Run, method: Any, seed: int, trial_folder: Path | None = None) -> TrialPlan | Curriculum:
        """Each method is a network, trained on one game."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: Run, method: str, policy: TeamPolicy) -> Tests:
        """Training and unseen assignments, in several rooms, with wrong documents, and references."""
        return evaluation.evaluate(config, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates of finished curricula."""
        ends = stages.of_last_games(results)
        is_of_a_simpler_game = bool(results) and not ends
        return [] if is_of_a_simpler_game else [stages.win_rate_table(ends, self.caption, self.paper)]

    def main_comparisons(self, config: Run) -> Sequence[MainComparison]:
        """Both methods on unseen assignments in the largest room."""
        pair = first_trained(self.compared, config.methods) or self.compared[0]
        return (MainComparison(*pair, "win_rate", column(UNSEEN, max(config.test_sizes))),)

    def deviation_notes(self, config: Run) -> list[str]:
        """Deviations of all presets from the paper's text."""
        return deviation_notes(config)

    def optimiser_steps(self, config: Run) -> str:
        """Optimiser steps, compared with those of the preset `paper`, if there is one."""
        paper = self.presets.get("paper")
        return "" if paper is None else compare_optimiser_steps(self.as_learned(config), paper)

    def as_learned(self, config: Run) -> Run:
        """The configuration with its methods' learner, workers and budget."""
        return config

    def test_world(self, config: Run, num_worlds: int, method: str = "") -> World:
        """Unseen assignments."""
        return make_world(config.task, num_worlds, split=TEST)

    def get_split(self, world: str) -> str:
        """Split on which a column was measured."""
        return get_split(world)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, attention and an episode of each method."""
        return figures.draw(run_folder, trials)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """An episode with the network's attention, [H, W, 3] uint8 a frame."""
        return figures.video(loaded, seed)


class ReadingInStages(ReadingExperiment[CurriculumConfig]):
    """One table after curricula of simpler games; `transfers` are method -> game -> win rate in the paper."""

    transfers: PaperNumbers

    def plan(self, config: CurriculumConfig, method: Any, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """Each method is a curriculum."""
        return stages.plan(config, method, seed)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Win rates of finished curricula, and those at the end of all stages."""
        return [*super().tables(results), stages.transfer_table(results, self.caption, self.transfers)]


def deviation_notes(config: RunConfig) -> list[str]:
    """Deviations from the paper's text, also of the preset `paper`."""
    notes = ["training and unseen assignments are split by our own key: the released split changes with every start"]
    rate, weight, goal = config.learner.learning_rate, config.learner.value_coef, config.network.goal_hidden_size
    notes.append(
        f"learning rate: {rate}, the paper's text has {RATE_OF_TEXT}, RTFM's released commands {RATE_OF_RELEASE}"
    )
    if weight != BASELINE_OF_TEXT:
        notes.append(
            f"baseline weight: {weight} of the square, the text has {BASELINE_OF_TEXT}; RTFM's release halves it"
        )
    has_papers_networks = any("matching" not in row for row in config.methods)
    if has_papers_networks and config.network.form == "code" and goal != GOAL_OF_TEXT:
        notes.append(f"goal states: {goal} in networks as in RTFM's code, the text has {GOAL_OF_TEXT}")
    return notes


def compare_optimiser_steps(config: RunConfig, paper: RunConfig) -> str:
    """Sentence on the optimiser steps of training, or of its first stage; the paper has one per batch."""
    ours, theirs = (
        one.first_stage_env_steps if isinstance(one, StagedExperimentConfig) else one.budget_env_steps
        for one in (config, paper)
    )
    how = ", each in the first stage" if isinstance(config, StagedExperimentConfig) else ""
    reference = optimiser_steps(paper.learner, paper.workers, theirs)
    return describe_optimiser_steps(config.learner, config.workers, ours, reference, how=how)
