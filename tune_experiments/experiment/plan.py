"""Plan of one training run, or of one stage of a curriculum."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np

from rl_models.rllib.workers import TrainingPlan

if TYPE_CHECKING:
    from rl_envs import World
    from rl_models.policy import TeamPolicy
    from rl_models.training.algorithm import Algorithm
    from rl_models.training.evaluation import Probe
    from rl_models.training.local_algorithm import LocalAlgorithm

Episodes = dict[str, np.ndarray]
"""Metric -> value per episode, [K] float64; keys that start with `_` are arrays for figures."""
RANDOM = "random"


@dataclass(frozen=True)
class Tested:
    """Name of a test beyond the name of its environment.

    `condition` is the difference from the plain test, such as "in silence"; `method` another policy that was tested,
    such as `RANDOM`. Both are empty for the plain test of the trained policy.
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

VALIDATION_SEED, TEST_SEED = 2**31, 2**31 + 1
"""Seeds of the default validation and test; `--seeds` refuses them."""
SEEDS_BETWEEN_STAGES = 1_000_003
"""Added to a stage's seed for each stage before it: stages in the same world must have different episodes."""


def play_episodes(
    world: World,
    seed: int,
    policy: TeamPolicy,
    is_greedy: bool | None = None,
    draws_noise: bool = True,
    probe: Probe | None = None,
) -> Episodes:
    """Metrics of one episode in each of B environments, which are closed; the return is summed over agents."""
    from rl_models.training.evaluation import Evaluation

    with contextlib.closing(world):
        played = Evaluation(world, policy, probe, is_greedy, draws_noise).run(seed)
    return played | {"return": played["return"].sum(-1)}


def make_team_algorithm(plan: TrialPlan) -> Algorithm:
    """RLlib's algorithm for a plan, or the in-process algorithm for a local plan."""
    if plan.is_local:
        return _local_algorithm(plan)
    from rl_models.rllib.team_algorithm import TeamAlgorithm  # Ray is needed only where RLlib trains

    return TeamAlgorithm(plan)


def _local_algorithm(plan: TrialPlan) -> LocalAlgorithm:
    from rl_models.runtime.device import get_device
    from rl_models.training.grouped_collector import make_collector, make_groups
    from rl_models.training.local_algorithm import LocalAlgorithm
    from rl_models.training.loop import Learner

    workers, objective, policy = plan.workers, plan.objective, plan.new_policy()
    worlds = make_groups(plan.make_world, workers.worlds, 0, workers.world_groups, get_device(policy))
    collector = make_collector(worlds, policy, workers.fragment_length, objective.needs_values)
    return LocalAlgorithm(collector, Learner(policy, objective, plan.optimiser), plan.seed)


@dataclass(frozen=True, kw_only=True)
class TrialPlan(TrainingPlan):
    """Plan of one training run: algorithm, budget, validation and checkpoints.

    Attributes:
        budget_env_steps: Number of env steps of training.
        validate_every_env_steps, checkpoint_every_env_steps: Intervals in env steps.
        kept_checkpoints: Number of newest checkpoints that are kept, beside those that later stages and tests need.
        validate: Function from a policy to validation metrics, logged under `valid/`; None plays `valid_episodes`
            episodes in environments of training.
        chosen_by: Validation metric by which weights are chosen; None keeps the last weights.
        chooses_last: Whether the later of equally good weights are chosen, instead of the earlier ones.
        make_algorithm: Algorithm factory.
        learns: False for a frozen policy.
        given_env_steps: Env steps of a frozen policy's earlier training; None if it was not trained.
        is_local: Whether the trial's own process does all the work, without Ray.
    """

    is_staged: ClassVar[bool] = False

    budget_env_steps: int
    validate_every_env_steps: int
    checkpoint_every_env_steps: int
    validate: Callable[[TeamPolicy], Episodes] | None = None
    valid_episodes: int = 64
    chosen_by: str | None = None
    chooses_last: bool = False
    kept_checkpoints: int = 3
    make_algorithm: Callable[[TrialPlan], Algorithm] = make_team_algorithm
    learns: bool = True
    given_env_steps: int | None = None
    is_local: bool = False

    def __post_init__(self) -> None:
        self.workers.check_learners(self.objective)
        if self.workers.aggregators and self.objective.takes_turns:
            name = type(self.objective).__name__.upper()
            raise ValueError(f"--workers.aggregators is for IMPALA, and this method trains with {name}: leave it at 0")

    def validation(self, policy: TeamPolicy) -> Episodes:
        """Metrics of a policy in validation environments."""
        if self.validate is not None:
            return self.validate(policy)
        world = self.make_world(num_worlds=self.valid_episodes, first_world=0)
        return play_episodes(cast("World", world), VALIDATION_SEED, policy)

    def trained_env_steps(self, env_steps: int) -> int | None:
        """Number of env steps of training in results; None without training."""
        return env_steps if self.learns else self.given_env_steps

    def with_gpus(self, per_learner: float, per_runner: float) -> TrialPlan:
        """The same plan with other numbers of GPUs per process."""
        workers = dataclasses.replace(self.workers, gpus_per_learner=per_learner, gpus_per_runner=per_runner)
        return dataclasses.replace(self, workers=workers)

    def in_one_process(self) -> TrialPlan:
        """The same plan without Ray: this process steps the environments of all runners, and learns."""
        return dataclasses.replace(self, workers=self.workers.in_one_process(), is_local=True)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The plan as its only stage."""
        return (Stage(name="only", plan=self),)


@dataclass(frozen=True)
class Promotion:
    """Rule that ends a stage before its budget.

    Attributes:
        metric: Key of the log, `valid/NAME` or `episode/NAME`.
        threshold: Smallest mean of its latest values.
        over: Number of values in that mean.
    """

    metric: str
    threshold: float
    over: int = 1

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(valid|episode)/\w+", self.metric):
            raise ValueError(f"metric of a promotion must be valid/NAME or episode/NAME, not {self.metric!r}")
        if self.over < 1:
            raise ValueError(f"over of a promotion must be at least 1, not {self.over}")

    def is_met(self, values: Sequence[float]) -> bool:
        """Whether the stage is passed, from the metric's values in it, the latest last."""
        return len(values) >= self.over and sum(values[-self.over :]) / self.over >= self.threshold


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of a curriculum.

    Attributes:
        name: Name in snake case, part of folder names and results.
        plan: Plan of the stage, with a budget of its own.
        promotion: Rule that ends the stage early; None trains to the budget.
        frozen: Patterns (`network.attention.*`) of parameters that are not trained in this stage.
        keeps_optimiser: Whether the optimiser state of transferred parameters is transferred too.
        evaluate: Test of the stage's last policy after training; the last stage has the experiment's own.
    """

    name: str
    plan: TrialPlan
    promotion: Promotion | None = None
    frozen: tuple[str, ...] = ()
    keeps_optimiser: bool = False
    evaluate: Callable[[TeamPolicy], Tests] | None = None

    def plan_at(self, index: int) -> TrialPlan:
        """Plan of the stage after `index` others, with frozen parameters and a seed of its own."""
        from rl_models.training.weight_transfer import FrozenBuild

        changes: dict[str, object] = {}
        if self.frozen:
            changes["build_policy"] = FrozenBuild(self.plan.build_policy, self.frozen)
        if index:
            changes["seed"] = self.plan.seed + index * SEEDS_BETWEEN_STAGES
        return dataclasses.replace(self.plan, **changes) if changes else self.plan  # type: ignore[arg-type]
