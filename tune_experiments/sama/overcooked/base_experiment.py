"""Base of SAMA's experiments in Overcooked: everything except presets, captions, evaluation and columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs import World
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.overcooked.overcooked_experiment import OVERCOOKED_RANGES
from tune_experiments.play.episode import MAX_STEPS, Episode, record_episodes
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.sama.overcooked.config import RULES, SamaConfig
from tune_experiments.sama.overcooked.tables import RANGES, tables, training_results
from tune_experiments.sama.planned_experiment import PlannedExperiment

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials

__all__ = ["SamaExperiment", "deviation_notes"]


class SamaExperiment(PlannedExperiment[SamaConfig]):
    """One table of SAMA's."""

    metric_ranges = OVERCOOKED_RANGES | RANGES

    def methods(self, config: SamaConfig) -> Sequence[str]:
        """Every method in every kitchen."""
        from tune_experiments.sama.overcooked.trials import method_names

        return method_names(config)

    def plan(
        self, config: SamaConfig, method: str, seed: int, trial_folder: Path | None = None
    ) -> TrialPlan | Curriculum:
        """States, sub-goals and rewards from the planner, then PPO; rounds of fine-tuning where there are any."""
        from tune_experiments.sama.overcooked.fine_tuning import plan

        return plan(config, method, seed, trial_folder)

    def evaluate_trial(self, config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes under the planner."""
        from tune_experiments.sama.overcooked import evaluation

        return evaluation.evaluate(config, method, policy, trial_folder)

    def evaluation_seeds(self, config: SamaConfig) -> Sequence[int]:
        """Those of validation and test."""
        from tune_experiments.sama.overcooked import evaluation
        from tune_experiments.sama.overcooked.trials import VALIDATION_SEED

        return VALIDATION_SEED, evaluation.EVALUATION_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table a kitchen."""
        return tables(results, self.caption)

    def main_comparisons(self, config: SamaConfig) -> Sequence[MainComparison]:
        """SAMA against self-play, in every kitchen."""
        return [
            MainComparison(f"sama-{task}", f"selfplay-{task}", "soups", task, table=f"{self.caption}: {task}")
            for task in config.tasks
        ]

    def training_results(self, method: str, rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """How much of the rewards that a model wrote fell back on built-in ones."""
        return training_results(method, rows)

    def deviation_notes(self, config: SamaConfig) -> Sequence[str]:
        """What no flag says."""
        return deviation_notes(config)

    def as_loaded(self, config: SamaConfig) -> SamaConfig:
        """See `planner_config.as_loaded`; frozen encodings are in the user's cache."""
        return dataclasses.replace(super().as_loaded(config), encoder=dataclasses.replace(config.encoder, folder=""))

    def check(self, config: SamaConfig) -> None:
        """See that the planner can answer where a method has one."""
        from tune_experiments.sama.overcooked.trials import UNPLANNED

        if set(config.methods) - set(UNPLANNED):
            super().check(config)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, the planner's transcripts, and an episode of each method."""
        from tune_experiments.sama.overcooked import figures

        return figures.draw(run_folder, trials)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The beginning of an episode under the planner."""
        from tune_experiments.sama.overcooked import figures

        return figures.video(loaded, seed)

    def episodes(
        self, loaded: LoadedPolicy, seed: int = SEED, episodes: int = 1, most_steps: int = MAX_STEPS
    ) -> Sequence[Episode]:
        """Episodes under the planner, with its goals and reflections; of others the game itself.

        Raises:
            UserError: chefs walk by script.
        """
        from tune_experiments.sama.overcooked.episode_records import record_planned
        from tune_experiments.sama.overcooked.trials import SCRIPTED, UNPLANNED, split_method

        row, layout = split_method(loaded.method)
        if row == SCRIPTED:
            raise UserError(f"{loaded.method} has no policy whose choices can be shown: `render` makes a video of it")
        if row not in UNPLANNED:
            return record_planned(loaded, seed, episodes, most_steps)
        game = UNPLANNED[row].make_world(OvercookedConfig(task=layout), episodes)
        return record_episodes(loaded, seed, episodes, most_steps, game)

    def page(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """An episode of each team that has a policy."""
        from tune_experiments.sama.overcooked.trials import SCRIPTED, split_method

        return super().page(
            run_folder, {name: one for name, one in trials.items() if split_method(name)[0] != SCRIPTED}
        )

    def test_world(self, config: SamaConfig, num_worlds: int, method: str = "") -> World:
        """Rounds in the method's kitchen, or the run's first; of a method without a planner, the game itself."""
        from tune_experiments.sama.overcooked.trials import (
            BLIND,
            UNPLANNED,
            make_rounds,
            make_test_rounds,
            split_method,
        )

        if not method:
            return make_test_rounds(config, num_worlds)
        row, layout = split_method(method)
        if row in UNPLANNED:
            return UNPLANNED[row].make_world(OvercookedConfig(task=layout), num_worlds)
        return make_rounds(config, layout, num_worlds, sees_commands=row != BLIND)


def deviation_notes(config: SamaConfig) -> list[str]:
    """Deviations from the paper that no flag says."""
    from tune_experiments.sama.overcooked.trials import UNPLANNED

    notes = ["the paper gives no numbers for its figures, and neither budget nor network sizes"]
    weight, clip = config.learner.entropy_coef, config.learner.clip_range
    notes.append(
        f"the paper's epsilon, 0.01, is read as the entropy weight ({weight} here); the clipping range is {clip}"
    )
    planned = [f"planner: {planner_in_words(config)}"] if set(config.methods) - set(UNPLANNED) else []
    others = [row for row in UNPLANNED if row in config.methods]
    own = [f"{row}: learner and shaping of overcooked_selfplay's laptop preset, in every preset" for row in others]
    counting = ["soups within the env steps of all rounds, undone ones too; the paper leaves undone ones out"]
    return [*planned, *notes, *own, *(counting if planned else [])]


def planner_in_words(config: SamaConfig) -> str:
    """Description of the planner of a run."""
    if config.planner == "scored":
        return f"scores of the language model {config.model.name}, which writes nothing; the paper's writes its plans"
    if config.planner not in RULES:
        how = "recorded answers of" * (config.planner == "replay")
        return f"{how} the language model {config.model.name}, the paper names GPT-3.5 and GPT-4".strip()
    errs = f", which err on purpose ({config.noise})" if config.planner == "noisy" else ""
    return (
        f"rules, written by hand (tuned scores, exhaustive search over structured state){errs}; they use no "
        "prompts, manual or few-shot examples; the paper has a language model"
    )
