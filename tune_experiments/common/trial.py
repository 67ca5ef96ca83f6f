"""One training run: an algorithm (RLlib's as a rule), our log, our checkpoints, our validation.

A trial that starts looks into its own folder and continues from the newest whole checkpoint, whatever ended it the
last time; rows written after that checkpoint are taken back first. Nothing pickled is ever read.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint, prune, save_checkpoint
from rl_models.training.schedule import Progress
from tune_experiments.common.config_json import config_to_json
from tune_experiments.common.experiment import Episodes, Experiment, TrialPlan
from tune_experiments.common.files import write_json
from tune_experiments.common.intervals import interval_over_episodes
from tune_experiments.common.results import Result
from tune_experiments.common.trial_log import TrialLog

CHECKPOINTS = "checkpoints"
OUTCOME = "outcome.json"
"""Written last: the test results of a finished trial, none where it was not to be tested."""
KEPT_CHECKPOINTS = 3
_PATIENCE_SECONDS = 1800.0
Row = dict[str, float]


class Trial:
    """One run of training in its folder.

    Args:
        experiment, config, method, seed: what to train.
        folder: where it continues from and writes to.
        is_tested: whether it ends with a test; a search must not choose by tests and does without.
    """

    def __init__(
        self, experiment: Experiment, config: Any, method: str, seed: int, folder: Path, is_tested: bool = True
    ) -> None:
        self.experiment, self.config, self.method, self.seed = experiment, config, method, seed
        self.folder, self.is_tested = folder, is_tested
        self.plan: TrialPlan = experiment.plan(config, method, seed)
        self._validated_at = self._saved_at = -1
        self._statistics: Row = {}

    def run(self, report: Callable[[Row], None]) -> None:
        """Train to the end of the budget, then test where that is asked for; `report` gets every row of the log."""
        torch.set_num_threads(1)
        make_algorithm = self.plan.make_algorithm or _rllib_algorithm
        with contextlib.closing(make_algorithm(self.plan)) as algorithm, TrialLog(self.folder) as log:
            progress = self._continue(algorithm, log)
            log.add_text("config", f"```json\n{json.dumps(config_to_json(self.config), indent=1)}\n```")
            clock = _Clock(progress.env_steps)
            while progress.env_steps < self.plan.budget_env_steps:
                statistics = algorithm.train()
                before, progress = progress, algorithm.progress()
                self._statistics |= statistics
                if progress.env_steps == before.env_steps:  # IMPALA only queued a batch
                    clock.check_for_life()
                    continue
                row = self._row(progress, clock) | self._validation(algorithm, progress)
                self._statistics = {}
                log.append(row)
                report(row)
                self._checkpoint(algorithm, progress)
        results = self._test() if self.is_tested else []
        write_json(self.folder / OUTCOME, {"results": [vars(result) for result in results]})

    def _continue(self, algorithm: Any, log: TrialLog) -> Progress:
        newest = newest_whole_checkpoint(self.folder / CHECKPOINTS)
        if newest is None:
            log.rewind(0)
            self._validated_at = self._saved_at = 0
            return Progress()
        checkpoint = load_checkpoint(newest)
        progress = Progress(**checkpoint.state["progress"])
        algorithm.restore(checkpoint.tensors, progress)
        log.rewind(progress.env_steps)
        self._saved_at = progress.env_steps
        self._validated_at = checkpoint.state["validated_at"]
        return progress

    def _row(self, progress: Progress, clock: _Clock) -> Row:
        return {
            "env_steps": progress.env_steps,
            "progress/episodes": progress.episodes,
            "progress/updates": progress.updates,
            "speed/env_steps_per_second": clock.speed(progress.env_steps),
            **self._statistics,
        }

    def _validation(self, algorithm: Any, progress: Progress) -> Row:
        is_last = progress.env_steps >= self.plan.budget_env_steps
        if not is_last and progress.env_steps - self._validated_at < self.plan.validate_every_env_steps:
            return {}
        self._validated_at = progress.env_steps
        episodes = self.plan.validate(algorithm.policy())
        return {f"valid/{name}": float(values.mean()) for name, values in episodes.items() if name[0] != "_"}

    def _checkpoint(self, algorithm: Any, progress: Progress) -> None:
        is_last = progress.env_steps >= self.plan.budget_env_steps
        if not is_last and progress.env_steps - self._saved_at < self.plan.checkpoint_every_env_steps:
            return
        tensors, progress = algorithm.checkpoint()
        self._saved_at = progress.env_steps
        state = {
            "experiment": self.experiment.name,
            "config": config_to_json(self.config),
            "method": self.method,
            "seed": self.seed,
            "progress": vars(progress),
            "validated_at": self._validated_at,
        }
        save_checkpoint(self.folder / CHECKPOINTS, progress.env_steps, tensors, state)
        prune(self.folder / CHECKPOINTS, KEPT_CHECKPOINTS)

    def _test(self) -> list[Result]:
        """Test what the last checkpoint holds, so that `evaluate` finds the same numbers."""
        newest = newest_whole_checkpoint(self.folder / CHECKPOINTS)
        if newest is None:
            raise RuntimeError(f"{self.folder / CHECKPOINTS} has lost its checkpoints; run the same command again")
        checkpoint, policy = load_checkpoint(newest), self.plan.build_policy().eval()
        policy.load_state_dict({name: torch.as_tensor(value) for name, value in checkpoint.tensors["weights"].items()})
        env_steps = checkpoint.state["progress"]["env_steps"]
        results: list[Result] = []
        for world, episodes in self.experiment.test(self.config, policy).items():
            results += results_of(self.experiment, self.method, self.seed, world, episodes, env_steps)
            arrays = {name: values for name, values in episodes.items() if name[0] == "_"}
            if arrays:
                np.savez(self.folder / f"{world}_pictures.npz", allow_pickle=False, **arrays)
        return results


def _rllib_algorithm(plan: TrialPlan) -> Any:
    from rl_models.rllib.algorithm import TeamAlgorithm  # Ray is needed only where RLlib trains

    return TeamAlgorithm(plan)


def results_of(
    experiment: Experiment, method: str, seed: int, world: str, episodes: Episodes, env_steps: int
) -> list[Result]:
    """Rows of results.jsonl for a test, with intervals over episodes; exact numbers have no episodes."""
    rows = []
    for name, values in episodes.items():
        if name[0] == "_":
            continue
        interval = interval_over_episodes(values)
        rows.append(
            Result(
                experiment=experiment.name,
                table=experiment.caption,
                method=method,
                world=world,
                split=experiment.split,
                seed=seed,
                metric={"length": "episode_length"}.get(name, name),
                value=interval.value,
                ci_low=interval.low,
                ci_high=interval.high,
                n_episodes=None if experiment.split == "exact" else len(values),
                env_steps=env_steps,
            )
        )
    return rows


def outcome_of(folder: Path) -> list[Result] | None:
    """Test results of a trial that has finished (an empty list if it was not to be tested), else None."""
    path = folder / OUTCOME
    if not path.exists():
        return None
    return [Result(**row) for row in json.loads(path.read_text())["results"]]


class _Clock:
    """Env steps a second since the last few rows."""

    def __init__(self, env_steps: int) -> None:
        self._marks = [(time.monotonic(), env_steps)]

    def check_for_life(self) -> None:
        """Fail when nothing was learned for too long: a failed trial is started again, a waiting one never ends."""
        if time.monotonic() - self._marks[-1][0] > _PATIENCE_SECONDS:
            raise RuntimeError(
                f"nothing was learned for {_PATIENCE_SECONDS / 60:.0f} minutes: runners or learners are gone"
            )

    def speed(self, env_steps: int) -> float:
        self._marks = [*self._marks[-20:], (time.monotonic(), env_steps)]
        (first_time, first_steps), (last_time, last_steps) = self._marks[0], self._marks[-1]
        return (last_steps - first_steps) / max(last_time - first_time, 1e-9)
