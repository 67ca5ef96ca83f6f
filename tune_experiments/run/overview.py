"""Overview of the runs in a folder: what is running, since when, and how far each trial has come.

Only logs, configurations and locks are read; no module from outside Concord is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_models.file_lock import hold_lock
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.finding import find_stored, trial_name
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.run_folder import CONFIG_FILE, LOCK_FILE, MANIFEST_FILE, read_config, read_sessions


def runs_in(folder: Path) -> list[Path]:
    """Run folders in a folder that is not a run folder itself, by name."""
    if (folder / MANIFEST_FILE).exists():
        return []
    return sorted(path.parent for path in folder.glob(f"*/{MANIFEST_FILE}"))


def overview(run: Path) -> list[str]:
    """Lines on a run: whether it is running, then each trial of its methods and seeds, or which file is damaged."""
    try:
        sessions = read_sessions(run, may_be_missing=True)
    except UserError as error:
        return [f"{run.name}: {error}"]
    began = sessions[-1].get("utc_start", "an unknown time") if sessions else "an unknown time"
    state = f"running since {began}" if _is_running(run) else f"not running; its last session began at {began}"
    try:
        return [f"{run.name}: {state}", *_trials(run, sessions)]
    except UserError as error:
        return [f"{run.name}: {state}", f"  {error}"]


def _trials(run: Path, sessions: Sequence[Mapping[str, Any]]) -> list[str]:
    experiment, config = find_stored(*read_config(run), (), run / CONFIG_FILE)
    seeds = sorted({seed for session in sessions for seed in session.get("seeds", ())})
    names = dict.fromkeys(
        (method, seed if experiment.depends_on_seed(method) else seeds[0])
        for method in experiment.methods(config)
        for seed in seeds
    )
    return [_trial(experiment, config, method, seed, run) for method, seed in names]


def _trial(experiment: BaseExperiment, config: object, method: str, seed: int, run: Path) -> str:
    name = trial_name(method, seed)
    folder = run / "trials" / name
    budget = experiment.plan(config, method, seed, None).budget_env_steps
    rows: Sequence[dict[str, float]] = read_metrics(log) if (log := folder / METRICS_FILE).exists() else ()
    env_steps = int(rows[-1]["env_steps"]) if rows else 0
    tested = ", tested" if read_test_results(folder) is not None else ""
    return f"  {name}: {env_steps:,} of {budget:,} env steps{tested}"


def _is_running(run: Path) -> bool:
    """Whether a process holds the lock of the run; a read-only folder counts as not running."""
    if not (run / LOCK_FILE).exists():
        return False
    try:
        with hold_lock(run / LOCK_FILE):
            return False
    except TimeoutError:
        return True
    except OSError:
        return False
