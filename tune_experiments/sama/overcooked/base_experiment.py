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
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.overcooked.overcooked_experiment import OVERCOOKED_RANGES
from tune_experiments.play.episode import MAX_STEPS, Episode
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.sama.overcooked.config import BLIND, SAMA, SCRIPTED, SamaConfig, method_names, split_method
from tune_experiments.sama.overcooked.tables import RANGES, draw_sample_efficiency, tables, training_results
from tune_experiments.sama.planned_experiment import PlannedExperiment
from tune_experiments.sama.planner_config import RULES

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.sama.overcooked import episode_records, evaluation, fine_tuning, play
    from tune_experiments.sama.overcooked import trials as sama_trials
else:
    episode_records = LazyModule("tune_experiments.sama.overcooked.episode_records")
    evaluation = LazyModule("tune_experiments.sama.overcooked.evaluation")
    fine_tuning = LazyModule("tune_experiments.sama.overcooked.fine_tuning")
    play = LazyModule("tune_experiments.sama.overcooked.play")
    sama_trials = LazyModule("tune_experiments.sama.overcooked.trials")


class SamaExperiment(PlannedExperiment[SamaConfig]):
    """One table of SAMA's."""

    metric_ranges = OVERCOOKED_RANGES | RANGES
    curves = {
        "valid/soups": "soups per episode in validation",
        "valid/completed": "rounds with both sub-goals reached",
        "episode/reached": "sub-goals reached in training",
        "episode/length": "env steps of a round",
        "policy/entropy": "entropy (nats, both chefs)",
    }

    def methods(self, config: SamaConfig) -> Sequence[str]:
        """Every method in every kitchen."""
        return method_names(config)

    def plan(
        self, config: SamaConfig, method: str, seed: int, trial_folder: Path | None = None
    ) -> TrialPlan | Curriculum:
        """States, sub-goals and rewards from the planner, then PPO; perhaps rounds of fine-tuning."""
        return fine_tuning.plan(config, method, seed, trial_folder)

    def evaluate_trial(self, config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes with the planner."""
        return evaluation.evaluate(config, method, policy, trial_folder)

    def evaluation_seeds(self, config: SamaConfig) -> Sequence[int]:
        """Seeds of validation and test."""
        return sama_trials.VALIDATION_SEED, play.EVALUATION_SEED

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
        """Shares of model-written rewards that fell back on built-in ones."""
        return training_results(method, rows)

    def deviation_notes(self, config: SamaConfig) -> Sequence[str]:
        """Deviations from the paper that no flag shows."""
        weight, clip = config.learner.entropy_coef, config.learner.clip_range
        notes = [
            "the paper gives no numbers for its figures, and neither budget nor network sizes",
            f"the paper's epsilon, 0.01, is read as the entropy weight ({weight} here); the clipping range is {clip}",
        ]
        others = [row for row in sama_trials.UNPLANNED if row in config.methods]
        notes += [
            f"{row}: learner and shaping of overcooked_selfplay's laptop preset, in every preset" for row in others
        ]
        if not set(config.methods) - set(sama_trials.UNPLANNED):
            return notes
        counting = "soups within the env steps of all rounds, undone ones too; the paper leaves undone ones out"
        return [f"planner: {_describe_planner(config)}", *notes, counting]

    def as_loaded(self, config: SamaConfig) -> SamaConfig:
        """See `planner_config.as_loaded`; frozen encodings are in the user's cache."""
        return dataclasses.replace(super().as_loaded(config), encoder=dataclasses.replace(config.encoder, folder=""))

    def check(self, config: SamaConfig) -> None:
        """Check the planner, if a method has one."""
        if set(config.methods) - set(sama_trials.UNPLANNED):
            super().check(config)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The beginning of an episode with the planner, [H, W, 3] uint8 a frame."""
        return episode_records.video(loaded, seed)

    def episodes(
        self, loaded: LoadedPolicy, seed: int = SEED, episodes: int = 1, max_steps: int = MAX_STEPS
    ) -> Sequence[Episode]:
        """Episodes with the planner, its goals and reflections, or without; a UserError for scripted chefs."""
        row = split_method(loaded.method)[0]
        if row == SCRIPTED:
            raise UserError(f"{loaded.method} has no policy whose choices can be shown: `render` makes a video of it")
        if row in sama_trials.UNPLANNED:
            return super().episodes(loaded, seed, episodes, max_steps)
        return [episode_records.record(loaded, seed + number, max_steps) for number in range(episodes)]

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """The figures of the base class, and the env steps that each method needs."""
        return [*super().figures(run_folder, trials), *draw_sample_efficiency(run_folder, trials)]

    def curve_groups(self, trials: Trials) -> Mapping[str, Trials]:
        """One figure a kitchen."""
        groups: dict[str, dict[str, Mapping[int, Path]]] = {}
        for method, seeds in trials.items():
            row, layout = split_method(method)
            groups.setdefault(f"curves_{layout}", {})[row] = seeds
        return groups

    def page(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """An episode of each team that has a policy."""
        shown = {name: one for name, one in trials.items() if split_method(name)[0] != SCRIPTED}
        return super().page(run_folder, shown)

    def test_world(self, config: SamaConfig, num_worlds: int, method: str = "") -> World:
        """Rounds in the method's kitchen, or the run's first; without planner, the game itself."""
        row, layout = split_method(method or f"{SAMA}-{config.tasks[0]}")
        if row in sama_trials.UNPLANNED:
            return sama_trials.UNPLANNED[row].make_world(OvercookedConfig(task=layout), num_worlds)
        return sama_trials.make_rounds(config, layout, num_worlds, sees_commands=row != BLIND)


def _describe_planner(config: SamaConfig) -> str:
    if config.planner == "scored":
        return f"scores of the language model {config.model.name}, which only scores; the paper's writes its plans"
    if config.planner not in RULES:
        how = "recorded answers of" * (config.planner == "replay")
        return f"{how} the language model {config.model.name}, the paper names GPT-3.5 and GPT-4".strip()
    errs = f", with errors on purpose ({config.noise})" if config.planner == "noisy" else ""
    return (
        f"rules, written by hand (tuned scores, exhaustive search over structured state){errs}; they use no "
        "prompts, manual or few-shot examples; the paper has a language model"
    )
