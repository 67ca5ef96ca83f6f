"""Training in stages: the same policy learns in one environment after another.

    Curriculum((
        Stage(name="fixed", plan=..., promotion=Promotion("valid/win_rate", 0.9, over=3)),
        Stage(name="moving", plan=..., frozen=("network.attention.*",)),
    ))

Budgets, schedules and intervals count the stage's own env steps; the log counts all. The next stage starts with the
weights (by name and shape), new environments, a new recurrent state and, by default, a new optimiser.
"""

import dataclasses
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self, TypeAlias

from rl_models.rllib.workers import Workers
from tune_experiments.experiment.plan import Stage, TrialPlan

_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Curriculum:
    """One or more stages in order, with different names."""

    is_staged: ClassVar[bool] = True
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        names = [stage.name for stage in self.stages]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a curriculum needs one or more stages with different names, not {names}")
        for stage in self.stages:
            _check(stage, self.workers)
        first = self.stages[0]
        if first.keeps_optimiser:
            raise ValueError(
                f"stage {first.name} is the first, so there is no optimiser to keep; leave keeps_optimiser out"
            )
        for before, stage in pairwise(self.stages):
            ours, theirs = stage.plan.optimiser, before.plan.optimiser
            if stage.keeps_optimiser and (ours.optimiser, ours.amsgrad) != (theirs.optimiser, theirs.amsgrad):
                raise ValueError(
                    f"stage {stage.name} cannot keep the optimiser of {before.name}: their optimisers differ"
                )

    @property
    def workers(self) -> Workers:
        """Workers of all stages: a trial keeps the same processes from start to end."""
        return self.stages[0].plan.workers

    def with_gpus(self, per_learner: float, per_runner: float) -> Self:
        """The same stages with other numbers of GPUs per process."""
        stages = (dataclasses.replace(each, plan=each.plan.with_gpus(per_learner, per_runner)) for each in self.stages)
        return type(self)(tuple(stages))

    def in_one_process(self) -> Self:
        """The same stages without Ray."""
        stages = (dataclasses.replace(each, plan=each.plan.in_one_process()) for each in self.stages)
        return type(self)(tuple(stages))

    @property
    def budget_env_steps(self) -> int:
        """Sum of the stages' budgets in env steps; a promotion ends a stage early."""
        return sum(stage.plan.budget_env_steps for stage in self.stages)


Plan: TypeAlias = TrialPlan | Curriculum
"""Plan of a trial: of its only stage, or of several."""


def _check(stage: Stage, workers: Workers) -> None:
    plan = stage.plan
    if not _NAME.fullmatch(stage.name):
        raise ValueError(f"a stage's name must be in snake case, not {stage.name!r}")
    if _processes(plan.workers) != _processes(workers):
        raise ValueError(
            f"stage {stage.name} has other runners, learners or GPUs than the first; give all stages the same"
        )
    if plan.budget_env_steps < 1:
        raise ValueError(f"stage {stage.name} needs a budget of 1 env step or more, not {plan.budget_env_steps}")


def _processes(workers: Workers) -> tuple[float, ...]:
    gpus = workers.gpus_per_learner, workers.gpus_per_runner
    return workers.runners, workers.learners, workers.aggregators, *gpus
