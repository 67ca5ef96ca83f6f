"""One training run: an algorithm, its log, its checkpoints and its validation, in one stage or several.

A trial continues from the newest complete checkpoint in its folder; later rows of its log are cut first.
"""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Generic

import torch

from rl_models.runtime.device import chosen_device
from rl_models.runtime.host_memory import keep_freed_memory
from rl_models.schedule import Progress
from rl_models.text.weights_identity import check_identities, model_identities
from rl_models.training.algorithm import Algorithm
from rl_models.training.checkpoint import get_checkpoint_path, load_checkpoint, load_state, newest_complete_checkpoint
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import grown_in, grown_values
from tune_experiments.core.drawing import short_reason
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.rows import Result
from tune_experiments.results.trial_log import (
    CPU_SECONDS,
    DIVERGED,
    DIVERGED_FILE,
    METRICS_FILE,
    TrialLog,
    read_metrics,
    skipped_share,
)
from tune_experiments.run.curriculum_state import CurriculumState, transfer_stage
from tune_experiments.run.final_evaluation import (
    Evaluate,
    evaluate_all,
    make_evaluations,
    make_results,
    make_training_results,
    save_figure_data,
    write_test_results,
)
from tune_experiments.run.ray_cluster import Gpus
from tune_experiments.run.run_folder import WRITTEN_BY
from tune_experiments.run.stage_training import DivergedError, IsTimeUp, Report, StageTraining, never
from tune_experiments.run.trial_errors import ERROR_FILE

CHECKPOINTS, DECLARED_FILE = "checkpoints", "declared.json"


class Trial(Generic[Config]):
    """One run of training in its folder, in this process alone if `is_local`.

    Trials of a search are not tested at the end, and have finished when they diverge. Without `gpus` its processes have
    those of the configuration.
    """

    def __init__(
        self,
        experiment: BaseExperiment[Config],
        config: Config,
        method: str,
        seed: int,
        folder: Path,
        is_tested: bool = True,
        gpus: Gpus | None = None,
        is_local: bool = False,
    ) -> None:
        self.experiment, self.config, self.method, self.seed = experiment, config, method, seed
        self.folder, self.is_tested = folder, is_tested
        declared = experiment.plan(config, method, seed, folder)
        declared = declared.in_one_process() if is_local else declared
        self.curriculum = CurriculumState(declared if gpus is None else declared.with_gpus(gpus.learner, gpus.runner))

    def run(self, report: Report, until_env_steps: int | None = None, is_time_up: IsTimeUp = never) -> None:
        """Train to the end of the last stage, then evaluate.

        Rows of the log, and notices for the progress line, are reported. Training stops at a checkpoint at
        `until_env_steps`, or after the first row at which time is up, and a later call continues; a stage or evaluation
        that has not begun by then is left to it.
        """
        torch.set_num_threads(1)
        keep_freed_memory()
        for name in (ERROR_FILE, DIVERGED_FILE):
            if (path := self.folder / name).exists():  # of an earlier session; emptied, as a store deletes nothing
                path.write_text("")
        self.experiment.prepare(self.config, self.method, self.folder)
        newest = newest_complete_checkpoint(self.folder / CHECKPOINTS)
        if newest is not None:
            state = load_state(newest)
            check_identities(self.config, state.get("models", ()))
            self.curriculum.restore(state)
            if grown_in(state.get("config", {}), self.config):
                self.curriculum.check_budgets()
        with TrialLog(self.folder) as log:
            log.rewind(self.curriculum.total().env_steps)
            log.add_text("device", f"networks of the trial's own process run on {chosen_device()}")
            log.add_text("config", f"```json\n{json.dumps(config_to_json(self.config), indent=1)}\n```")
            while not self.curriculum.is_over:
                if until_env_steps is not None and self.curriculum.total().env_steps >= until_env_steps:
                    return
                if is_time_up():
                    return
                try:
                    self._train_stage(log, report, until_env_steps, is_time_up)
                except DivergedError as error:
                    if self.is_tested or until_env_steps is not None:
                        raise
                    (self.folder / DIVERGED_FILE).write_text(f"{error}\n")
                    report({"notice": f"{DIVERGED}, and is ranked last: {error}"})
                    break
        if is_time_up():
            return
        results = self.evaluate(report) if self.is_tested else []
        write_test_results(self.folder, results, grown_values(self.config))

    def _train_stage(self, log: TrialLog, report: Report, until_env_steps: int | None, is_time_up: IsTimeUp) -> None:
        if self.curriculum.stage_is_over:
            self.curriculum.next_stage()
        plan = self.curriculum.plan
        with contextlib.closing(plan.make_algorithm(plan)) as algorithm:
            self._restore_or_transfer(algorithm, log, report)
            identity = {
                "written_by": WRITTEN_BY,
                "experiment": self.experiment.entry_point,
                "config": config_to_json(self.config),
                "method": self.method,
                "seed": self.seed,
                "models": model_identities(self.config),
            }
            training = StageTraining(self.curriculum, self.folder / CHECKPOINTS, identity, log, report, is_time_up)
            training.run(algorithm, until_env_steps)

    def _restore_or_transfer(self, algorithm: Algorithm, log: TrialLog, report: Report) -> None:
        curriculum, env_steps = self.curriculum, self.curriculum.total().env_steps
        if not env_steps:
            return
        begins = not curriculum.progress.env_steps
        number = curriculum.ended[-1].checkpoint_env_steps if begins else env_steps
        tensors = load_checkpoint(get_checkpoint_path(self.folder / CHECKPOINTS, number)).tensors
        if not begins:
            algorithm.restore(tensors, curriculum.progress)
            return
        tensors, sentence = transfer_stage(curriculum, tensors, self.folder)
        algorithm.restore(tensors, Progress())
        log.add_text(f"weight_transfer/{curriculum.label}", sentence)
        report({"env_steps": env_steps, **curriculum.progress_entries(), "notice": sentence})

    def evaluate(self, report: Report) -> list[Result]:
        """Evaluate checkpoints of the stages with a test of their own, and of the last one."""
        curriculum, rows = self.curriculum, read_metrics(self.folder / METRICS_FILE)
        rows_at = {int(row["env_steps"]): row for row in rows}
        results = make_training_results(
            self.experiment, self.method, self.seed, rows, self.curriculum.total().env_steps
        )
        for index, end in enumerate(curriculum.ended):
            stage = curriculum.stages[index]
            if stage.evaluate is not None:
                own = {end.name: stage.evaluate}
                results += self.evaluate_checkpoint(
                    end.checkpoint_env_steps, stage.plan_at(index), own, rows_at, report
                )
        whole = make_evaluations(self.experiment, self.config, self.method, curriculum, self.folder)
        return results + self.evaluate_checkpoint(
            curriculum.end().checkpoint_env_steps, curriculum.plan, whole, rows_at, report
        )

    def evaluate_checkpoint(
        self,
        env_steps: int,
        plan: TrialPlan,
        evaluations: dict[str, Evaluate],
        rows_at: Mapping[int, Mapping[str, float]],
        report: Report,
    ) -> list[Result]:
        """Results of the checkpoint at a number of env steps, in the stage of `plan`, and data for its figures."""
        checkpoint = load_checkpoint(get_checkpoint_path(self.folder / CHECKPOINTS, env_steps))
        policy = plan.new_policy().eval()
        policy.load_state_dict(checkpoint.tensors["weights"])
        results: list[Result] = []
        trained, row = plan.trained_env_steps(env_steps), rows_at.get(env_steps, {}) if plan.learns else {}
        beside = row.get(CPU_SECONDS), skipped_share(row) or None
        for tested, episodes in evaluate_all(evaluations, self.method, policy):
            results += make_results(self.experiment, self.method, self.seed, tested, episodes, trained, *beside)
            try:
                save_figure_data(self.folder, tested, episodes)
            except OSError as error:  # results are kept without figures
                report({"notice": f"no data for figures of {tested.world}: {short_reason(error)}"})
        return results
