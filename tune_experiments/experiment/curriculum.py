"""A trial in stages: the same team learns in one world after another and takes its weights along.

An experiment's plan may be a `Curriculum` in place of one `TrialPlan`:

    Curriculum((
        Stage(name="fixed", plan=..., promotion=Promotion("valid/win_rate", 0.9, over=3)),
        Stage(name="moving", plan=..., frozen=("network.attention.*",)),
    ))

A stage ends when its promotion rule is met, or with its plan's budget. Budgets, schedules and intervals count the
stage's own env steps; the log counts all of them. The next stage begins with the weights (by name and shape), and with
new worlds, a new recurrent state and, unless it says otherwise, a new optimiser. This file holds what is declared;
`run/curriculum_state.py` where a trial stands in it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rl_models.policy import TeamPolicy
from rl_models.rllib.workers import Workers
from rl_models.training.weight_transfer import FrozenBuild
from tune_experiments.experiment.plan import Episodes, TrialPlan

__all__ = ["Curriculum", "Promotion", "Stage", "stages_of"]

SEEDS_BETWEEN_STAGES = 1_000_003
"""Added to a stage's seed for each stage before it: two stages in the same world must not replay their episodes."""
_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Promotion:
    """When a stage has been learned.

    Attributes:
        metric: key of the log, `valid/NAME` or `episode/NAME`.
        threshold: what the mean of its latest values must reach.
        over: how many values; of fewer there is no mean yet.
        at_least_env_steps: the stage takes these, however well it goes.
        otherwise: what happens when the budget is spent before: `go_on` to the next stage, or `stop` training; the team
            is then evaluated as its stage says if it does, else as the experiment does.
    """

    metric: str
    threshold: float
    over: int = 1
    at_least_env_steps: int = 0
    otherwise: Literal["go_on", "stop"] = "go_on"

    def __post_init__(self) -> None:
        """Refuse a rule that could never be looked at."""
        if not re.fullmatch(r"(valid|episode)/\w+", self.metric):
            raise ValueError(f"a promotion looks at valid/NAME or episode/NAME, not at {self.metric!r}")
        if self.over < 1:
            raise ValueError(f"a promotion looks at the mean over 1 or more values, not {self.over}")

    def is_met(self, values: Sequence[float], env_steps: int) -> bool:
        """Whether the stage has been learned.

        Args:
            values: of the metric, in this stage, the latest last.
            env_steps: of this stage.
        """
        if len(values) < self.over or env_steps < self.at_least_env_steps:
            return False
        return sum(values[-self.over :]) / self.over >= self.threshold


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage.

    Attributes:
        name: snake case; part of folder names and of the results' world names.
        plan: how it trains; `budget_env_steps` is the stage's own.
        promotion: when it ends before its budget does; None trains to the budget.
        frozen: patterns (`network.attention.*`) of names of parameters that no optimiser touches in this stage.
        grown: patterns of names of tables (embeddings) that may have more rows than in the stage before: those that
            were there are handed over, the new ones begin as built. Row i must mean in both stages the same.
        keeps_optimiser: whether the optimiser's state of parameters handed over whole is handed over too.
        evaluate: the stage's last policy after training: world name -> Episodes. The experiment's `evaluate` is of the
            last stage; teams of a stage with other observations could not take it.
    """

    name: str
    plan: TrialPlan
    promotion: Promotion | None = None
    frozen: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    keeps_optimiser: bool = False
    evaluate: Callable[[TeamPolicy], dict[str, Episodes]] | None = None

    def plan_at(self, index: int) -> TrialPlan:
        """The plan as it is trained when `index` stages come before: with frozen parameters, and seeds of its own."""
        changes: dict[str, object] = {}
        if self.frozen:
            changes["build_policy"] = FrozenBuild(self.plan.build_policy, self.frozen)
        if index:
            changes["seed"] = self.plan.seed + index * SEEDS_BETWEEN_STAGES
        return dataclasses.replace(self.plan, **changes) if changes else self.plan  # type: ignore[arg-type]


@dataclass(frozen=True)
class Curriculum:
    """Stages in order.

    Attributes:
        stages: one or more, with different names.
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        """Refuse what no trial could train.

        Raises:
            ValueError: one sentence that names the stage.
        """
        names = [stage.name for stage in self.stages]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a curriculum needs one or more stages with different names, not {names}")
        for stage in self.stages:
            _check(stage, self.workers)
        first = self.stages[0]
        if first.grown or first.keeps_optimiser:
            raise ValueError(f"stage {first.name} is the first: there is nothing that it could keep or let grow")
        for before, stage in pairwise(self.stages):
            ours, theirs = stage.plan.optimiser, before.plan.optimiser
            if stage.keeps_optimiser and (ours.kind, ours.amsgrad) != (theirs.kind, theirs.amsgrad):
                raise ValueError(f"stage {stage.name} cannot keep the optimiser of {before.name}: it is another")

    @property
    def workers(self) -> Workers:
        """Of all stages: a trial occupies the same processes from its beginning to its end."""
        return self.stages[0].plan.workers

    @property
    def budget_env_steps(self) -> int:
        """Of all stages together; promotions save some of it."""
        return sum(stage.plan.budget_env_steps for stage in self.stages)


def stages_of(plan: TrialPlan | Curriculum) -> tuple[Stage, ...]:
    """The stages of a plan; a plain one is its own only stage."""
    return plan.stages if isinstance(plan, Curriculum) else (Stage(name="only", plan=plan),)


def _check(stage: Stage, workers: Workers) -> None:
    plan, rule = stage.plan, stage.promotion
    if not _NAME.fullmatch(stage.name):
        raise ValueError(f"a stage's name is small letters, digits and single '_', not {stage.name!r}")
    if _processes(plan.workers) != _processes(workers):
        raise ValueError(f"stage {stage.name} has other runners, learners or GPUs than the first; give all the same")
    if plan.budget_env_steps < 1:
        raise ValueError(f"stage {stage.name} needs a budget of 1 env step or more, not {plan.budget_env_steps}")
    if rule is not None and rule.at_least_env_steps > plan.budget_env_steps:
        raise ValueError(
            f"stage {stage.name} is to take at least {rule.at_least_env_steps:,} env steps "
            f"and has a budget of {plan.budget_env_steps:,}"
        )


def _processes(workers: Workers) -> tuple[float, ...]:
    return workers.runners, workers.learners, workers.aggregators, workers.gpus_per_learner
