"""Sentences on what changed in training between sessions of a run.

Three changes matter: the budget, because schedules follow it; the number of env steps per update; and the number of
minibatch parts, because a contrastive loss compares texts within each part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rl_models.losses.extra_loss import is_contrastive
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.request import Request, make_plan
from tune_experiments.run.run_folder import PARTS


def describe_training_changes(
    experiment: BaseExperiment, request: Request, plan: Plan, state: Mapping[str, Any]
) -> list[str]:
    """Sentences on how the training of a continued trial changes from its newest checkpoint on."""
    old = _former_plan(experiment, request, state)
    if old is None:
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
            f"{plan.workers.worlds} environments are stepped at once instead of {old.workers.worlds}: they start "
            f"new episodes"
        )
    return found + _updates(old, plan)


def describe_update_changes(
    experiment: BaseExperiment, request: Request, plan: Plan, state: Mapping[str, Any]
) -> list[str]:
    """Sentences on how trials are now trained differently from a finished trial of the same table."""
    old = _former_plan(experiment, request, state)
    return [] if old is None else [f"{said} as in {request['name']}" for said in _updates(old, plan)]


def with_continuation_notes(tables: Sequence[PaperTable], sessions: Sequence[Mapping[str, Any]]) -> list[PaperTable]:
    """The tables, with captions that say what changed between sessions of the run."""
    stored = (session.get(PARTS) for session in sessions)
    parts = dict.fromkeys(str(part) for one in stored if isinstance(one, list) for part in one)
    said = "".join(f" Continued: {part}." for part in parts)
    return [dataclasses.replace(table, caption=table.caption + said) for table in tables]


def _former_plan(experiment: BaseExperiment, request: Request, state: Mapping[str, Any]) -> Plan | None:
    """Plan from a checkpoint's configuration; None if another version wrote the checkpoint."""
    try:
        return make_plan(experiment, {**request, "config": state["config"]})
    except (KeyError, UserError, ValueError):
        return None


def _updates(old: Plan, new: Plan) -> list[str]:
    found = []
    if (before := _env_steps(old)) != (now := _env_steps(new)):
        found.append(f"an update learns from {now:,} env steps instead of {before:,}")
    if (before := _parts(old)) != (now := _parts(new)):
        found.append(f"texts are compared within each of {now} parts of a minibatch instead of {before}")
    return found


def _env_steps(plan: Plan) -> int:
    return plan.workers.env_steps_learned_at_once(plan.stages[-1].plan.objective.takes_turns)


def _parts(plan: Plan) -> int:
    """Number of minibatch parts within which a loss compares texts; 1 without such a loss."""
    objectives = [stage.plan.objective for stage in plan.stages]
    compares = any(is_contrastive(loss) for one in objectives for loss in one.extra_losses)
    return max(plan.workers.learners, 1) * objectives[-1].gradient_accumulation_steps if compares else 1
