"""Experiments: one file each, named after what it reproduces; importing this package loads none of them.

from tune_experiments import furnmove_sync, load_policy

run = furnmove_sync.EXPERIMENT.run(preset="smoke", out="runs/try")
team = load_policy("runs/try")

A custom experiment needs the names in `__all__`, as `examples/corridor_experiment.py` uses them. Each is
imported from its module at first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tune_experiments.core.checks import check_distinct, check_ranges
    from tune_experiments.core.errors import UserError
    from tune_experiments.experiment.curriculum import Curriculum
    from tune_experiments.experiment.plan import Episodes, Promotion, Stage, TrialPlan
    from tune_experiments.experiment.search_space import SearchSpace
    from tune_experiments.experiment.training_config import ExperimentConfig, StagedExperimentConfig, TrainingConfig
    from tune_experiments.launch.experiment import Experiment, main
    from tune_experiments.launch.finished_run import Callback
    from tune_experiments.play.loading import load_policy
    from tune_experiments.results.main_comparison import MainComparison
    from tune_experiments.results.rows import Result
    from tune_experiments.results.tables import PaperTable, make_table

__all__ = [
    "Callback",
    "Curriculum",
    "Episodes",
    "Experiment",
    "ExperimentConfig",
    "MainComparison",
    "PaperTable",
    "Promotion",
    "Result",
    "SearchSpace",
    "Stage",
    "StagedExperimentConfig",
    "TrainingConfig",
    "TrialPlan",
    "UserError",
    "check_distinct",
    "check_ranges",
    "load_policy",
    "main",
    "make_table",
]

_MODULES = {
    "core.checks": ("check_ranges", "check_distinct"),
    "core.errors": ("UserError",),
    "experiment.curriculum": ("Curriculum",),
    "experiment.plan": ("Episodes", "Promotion", "Stage", "TrialPlan"),
    "experiment.search_space": ("SearchSpace",),
    "experiment.training_config": ("ExperimentConfig", "StagedExperimentConfig", "TrainingConfig"),
    "launch.experiment": ("Experiment", "main"),
    "launch.finished_run": ("Callback",),
    "play.loading": ("load_policy",),
    "results.main_comparison": ("MainComparison",),
    "results.rows": ("Result",),
    "results.tables": ("PaperTable", "make_table"),
}


def __getattr__(name: str) -> Any:
    """A public name, from its module."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
