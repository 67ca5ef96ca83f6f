"""Base configurations of experiments: methods, processes, budgets, validation, checkpoints and tests.

    @dataclass(frozen=True, kw_only=True)
    class MyConfig(ExperimentConfig, budget_env_steps=60_000, test_episodes=200):
        width: PositiveInt = 64
        '''Width of the network.'''

The defaults of inherited fields are arguments of the class, so their types and docstrings are written only here. A
field with another meaning is declared again, with its own docstring.
"""

import typing
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from pydantic import PositiveInt

from rl_models.configuration import MAY_GAIN, MAY_GROW
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_distinct, check_ranges


class PlanArguments(TypedDict):
    """Arguments of `TrialPlan` from a configuration: `TrialPlan(..., **config.plan_arguments())`."""

    workers: Workers
    budget_env_steps: int
    validate_every_env_steps: int
    checkpoint_every_env_steps: int
    valid_episodes: NotRequired[int]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Methods, processes and lengths of training."""

    methods: tuple[str, ...] = field(default=(), metadata=MAY_GAIN)
    """Methods to train."""
    workers: Workers = field(default_factory=Workers)
    """Processes and worlds of a trial."""
    budget_env_steps: PositiveInt = field(default=100_000, metadata=MAY_GROW)
    """Number of joint env steps of training for each method and seed."""
    validate_every_env_steps: PositiveInt = 10_000
    """Validation interval in env steps."""
    checkpoint_every_env_steps: PositiveInt = 10_000
    """Number of env steps between checkpoints; a crash loses at most this many."""

    def __init_subclass__(cls, **defaults: Any) -> None:
        """Set defaults of inherited fields; TypeError for a field that is not inherited."""
        super().__init_subclass__()
        hints: dict[str, Any] = {}
        for base in reversed(cls.__bases__):
            hints |= typing.get_type_hints(base, include_extras=True)
        for name, default in defaults.items():
            if name not in hints:
                raise TypeError(f"{cls.__name__} inherits no field {name}")
            cls.__annotations__[name] = hints[name]
            setattr(cls, name, default)

    def __post_init__(self) -> None:
        check_distinct(self, "methods")
        check_ranges(self)

    def plan_arguments(self, budget_env_steps: int | None = None) -> PlanArguments:
        """Processes and lengths of a trial."""
        return PlanArguments(
            workers=self.workers,
            budget_env_steps=self.budget_env_steps if budget_env_steps is None else budget_env_steps,
            validate_every_env_steps=self.validate_every_env_steps,
            checkpoint_every_env_steps=self.checkpoint_every_env_steps,
        )


@dataclass(frozen=True, kw_only=True)
class ExperimentConfig(TrainingConfig):
    """The same, with numbers of validation and test episodes."""

    valid_episodes: PositiveInt = 64
    """Number of episodes in each validation."""
    test_episodes: PositiveInt = field(default=100, metadata=MAY_GROW)
    """Number of test episodes of each method and seed."""

    def plan_arguments(self, budget_env_steps: int | None = None) -> PlanArguments:
        """The same, with the number of validation episodes."""
        return {**super().plan_arguments(budget_env_steps), "valid_episodes": self.valid_episodes}


@dataclass(frozen=True, kw_only=True)
class StagedExperimentConfig(ExperimentConfig):
    """The same for a curriculum whose first stage has its own budget."""

    first_stage_env_steps: PositiveInt = 100_000
    """Number of env steps of training in the first of the stages."""
    budget_env_steps: PositiveInt = 100_000
    """Number of env steps of training in each stage after the first."""
