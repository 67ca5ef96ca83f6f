"""In what a trial that is continued differs from one that had its present flags from the start, for people.

Runners, groups, learners and GPUs change nothing that is learned, up to rounding. Two things do: another budget, for
schedules that last for the budget follow the new one from here on, and another number of environments at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.request import Request, plan_of
from tune_experiments.run.run_folder import PARTS

__all__ = ["trained_otherwise", "with_parts"]


def trained_otherwise(
    experiment: BaseExperiment, request: Request, plan: TrialPlan | Curriculum, state: Mapping[str, Any]
) -> list[str]:
    """Sentences on how a trial is trained on otherwise than it was trained to its newest checkpoint.

    Args:
        experiment: its experiment.
        request: what is asked for now.
        plan: of the request.
        state: what the checkpoint says of the trial.
    """
    try:
        old = plan_of(experiment, {**request, "config": state["config"]})
    except (KeyError, UserError, ValueError):  # of another version; there is nothing to compare
        return []
    found = []
    if old.budget_env_steps != plan.budget_env_steps:
        found.append(
            f"the budget was {old.budget_env_steps:,} env steps and is {plan.budget_env_steps:,} now: schedules that "
            f"last for the budget follow the new one from here on, so training may differ from that of a run which had "
            f"this budget from the start"
        )
    if old.workers.worlds != plan.workers.worlds:
        found.append(
            f"{plan.workers.worlds} environments are played at once instead of {old.workers.worlds}: their episodes "
            f"begin anew, and an update learns from {plan.workers.env_steps_of_update:,} env steps instead of "
            f"{old.workers.env_steps_of_update:,}"
        )
    return found


def with_parts(tables: Sequence[PaperTable], sessions: Sequence[Mapping[str, Any]]) -> list[PaperTable]:
    """The tables, whose captions say in what later sessions of the run trained otherwise than earlier ones."""
    stored = (session.get(PARTS) for session in sessions)
    parts = dict.fromkeys(str(part) for one in stored if isinstance(one, list) for part in one)
    said = "".join(f" Continued: {part}." for part in parts)
    return [dataclasses.replace(table, caption=table.caption + said) for table in tables]
