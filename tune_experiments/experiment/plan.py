"""Plan of one training run, or of one stage of a curriculum. This file must not know any experiment."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from rl_models.rllib.workers import TrainingPlan

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from rl_models.training.algorithm import Algorithm
    from rl_models.training.local_algorithm import LocalAlgorithm

Episodes = dict[str, np.ndarray]
"""Metric name -> one value an episode, [K] float64; keys that start with `_` are arrays for pictures."""
RANDOM = "random"
"""Method in results of play with uniform legal actions."""


@dataclass(frozen=True)
class Tested:
    """Description of a test that the name of a world does not say all of.

    Attributes:
        world: name of the world.
        condition: what is different from the plain test, such as "in silence"; empty for that one.
        method: another player in the team's place, such as `RANDOM`, that depends on neither method nor seed; empty for
            the trained team.
    """

    world: str
    condition: str = ""
    method: str = ""

    @property
    def name(self) -> str:
        """Name for files about this test."""
        return "_".join(" ".join((self.method, self.world, self.condition)).split())


Tests: TypeAlias = dict[Any, Episodes]
"""Name of a world, or `Tested`, -> episodes."""

SEEDS_BETWEEN_STAGES = 1_000_003
"""Added to a stage's seed for each stage before it: two stages in the same world must not replay their episodes."""


def make_team_algorithm(plan: TrialPlan) -> Algorithm:
    """RLlib's loop for a plan, or the loop of this process for one that is local."""
    if plan.is_local:
        return _local_algorithm(plan)
    from rl_models.rllib.team_algorithm import TeamAlgorithm  # Ray is needed only where RLlib trains

    return TeamAlgorithm(plan)


def _local_algorithm(plan: TrialPlan) -> LocalAlgorithm:
    from rl_models.training.grouped_collector import make_collector, make_groups
    from rl_models.training.local_algorithm import LocalAlgorithm
    from rl_models.training.loop import Learner

    workers, objective, policy = plan.workers, plan.objective, plan.new_policy()
    worlds = make_groups(plan.make_world, workers.worlds, first_world=0, groups=workers.world_groups)
    collector = make_collector(worlds, policy, workers.fragment_length, objective.needs_values)
    return LocalAlgorithm(collector, Learner(policy, objective, plan.optimiser), plan.seed)


@dataclass(frozen=True, kw_only=True)
class TrialPlan(TrainingPlan):
    """One training run, ready to be built: what is trained, for how long, and what is measured and kept meanwhile.

    Attributes:
        budget_env_steps: when training ends.
        validate_every_env_steps, checkpoint_every_env_steps: how often.
        kept_checkpoints: of the newest; those with which a stage ended, and those with its best validation, stay too.
        validate: metrics of the present policy on validation worlds, logged under `valid/`.
        chosen_by: metric of `validate`; the weights with which it was highest are handed on and tested, not the last.
        make_algorithm: who trains, from the finished plan.
        learns: False for a team that plays as it is.
        given_env_steps: env steps for which a team that plays as it is was trained elsewhere; None: not trained.
        is_local: whether the trial's own process does all the work, without Ray.
    """

    is_staged: ClassVar[bool] = False

    budget_env_steps: int
    validate_every_env_steps: int
    checkpoint_every_env_steps: int
    validate: Callable[[TeamPolicy], Episodes]
    chosen_by: str | None = None
    kept_checkpoints: int = 3
    make_algorithm: Callable[[TrialPlan], Algorithm] = make_team_algorithm
    learns: bool = True
    given_env_steps: int | None = None
    is_local: bool = False

    def __post_init__(self) -> None:
        """Refuse processes that the algorithm would not use, and learners without a world or with a small replay."""
        self.workers.check_learners(self.objective)
        if self.workers.aggregators and self.objective.takes_turns:
            name = type(self.objective).__name__.upper()
            raise ValueError(f"--workers.aggregators is for IMPALA, and this method trains with {name}: leave it at 0")

    def trained_env_steps(self, env_steps: int) -> int | None:
        """Env steps of training that results name; None where nothing was trained.

        Args:
            env_steps: of this run.
        """
        return env_steps if self.learns else self.given_env_steps

    def with_gpus(self, per_learner: float, per_runner: float) -> TrialPlan:
        """The same plan whose processes have so many GPUs."""
        workers = dataclasses.replace(self.workers, gpus_per_learner=per_learner, gpus_per_runner=per_runner)
        return dataclasses.replace(self, workers=workers)

    def in_one_process(self) -> TrialPlan:
        """The same plan without Ray: this process plays the environments of all runners, and learns."""
        return dataclasses.replace(self, workers=self.workers.in_one_process(), is_local=True)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The plan as its own only stage; a curriculum has several."""
        return (Stage(name="only", plan=self),)


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
            were there are transferred, the new ones begin as built. Row i must mean in both stages the same.
        keeps_optimiser: whether the optimiser's state of parameters transferred whole is transferred too.
        evaluate: the stage's last policy after training: world name -> Episodes. The experiment's `evaluate` is of the
            last stage; teams of a stage with other observations could not take it.
    """

    name: str
    plan: TrialPlan
    promotion: Promotion | None = None
    frozen: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    keeps_optimiser: bool = False
    evaluate: Callable[[TeamPolicy], Tests] | None = None

    def plan_at(self, index: int) -> TrialPlan:
        """The plan as it is trained when `index` stages come before: with frozen parameters, and seeds of its own."""
        from rl_models.training.weight_transfer import FrozenBuild

        changes: dict[str, object] = {}
        if self.frozen:
            changes["build_policy"] = FrozenBuild(self.plan.build_policy, self.frozen)
        if index:
            changes["seed"] = self.plan.seed + index * SEEDS_BETWEEN_STAGES
        return dataclasses.replace(self.plan, **changes) if changes else self.plan  # type: ignore[arg-type]
