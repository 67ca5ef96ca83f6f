"""Limits of a configuration's numbers, for the `__post_init__` of an experiment's dataclass.

A field is named by its dotted path, as on the command line, and the sentence names the flag. `nan` and `inf` are never
in range. This file must not know about any experiment.
"""

from __future__ import annotations

import math
from typing import Any

from tune_experiments.experiment.config_path import flag_of, value_at
from tune_experiments.experiment.errors import UserError

__all__ = [
    "check_above",
    "check_actor_critic",
    "check_at_least",
    "check_between",
    "check_learner",
    "check_optimiser",
    "check_some",
    "check_workers",
]


def check_at_least(least: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) below `least`."""
    for path, value in _numbers(config, paths):
        _require(least <= value < math.inf, path, f"at least {least}", value)


def check_above(limit: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) that are not larger than `limit`."""
    for path, value in _numbers(config, paths):
        _require(limit < value < math.inf, path, f"larger than {limit}", value)


def check_between(least: float, most: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) outside `least .. most`."""
    for path, value in _numbers(config, paths):
        _require(least <= value <= most, path, f"between {least} and {most}", value)


def check_some(config: Any, *paths: str) -> None:
    """Refuse empty tuples and repeated entries."""
    for path in paths:
        values = value_at(config, path)
        _require(0 < len(values) == len(set(values)), path, "one or more different values", list(values))


def check_workers(config: Any) -> None:
    """Refuse `config.workers` that could not sample or learn."""
    check_at_least(1, config, "workers.worlds_per_runner", "workers.fragment_length")
    check_at_least(0, config, "workers.runners", "workers.learners", "workers.aggregators", "workers.gpus_per_learner")


def check_optimiser(config: Any, group: str) -> None:
    """Refuse an `OptimiserConfig` that no optimiser can have; `group` is its path."""
    check_above(0, config, f"{group}.optimiser_epsilon")
    check_at_least(0, config, f"{group}.max_grad_norm")
    check_between(0, 1, config, f"{group}.final_learning_rate_share")


def check_actor_critic(config: Any) -> None:
    """Refuse numbers of the `ActorCriticConfig` under `config.learner` that no algorithm can have."""
    check_optimiser(config, "learner")
    check_between(0, 1, config, "learner.gamma", "learner.gae_lambda")
    check_above(0, config, "learner.clip_range")
    check_at_least(1, config, "learner.num_epochs", "learner.num_minibatches", "learner.gradient_accumulation_steps")
    check_at_least(0, config, "learner.target_kl", "learner.value_coef", "learner.value_clip_range")


def check_learner(config: Any) -> None:
    """The same of the `LearnerConfig` under `config.learner`."""
    check_actor_critic(config)
    check_above(0, config, "learner.learning_rate")
    check_at_least(0, config, "learner.entropy_coef", "learner.final_entropy_coef", "learner.entropy_env_steps")


def _numbers(config: Any, paths: tuple[str, ...]) -> list[tuple[str, float]]:
    values = [(path, value) for path in paths if (value := value_at(config, path)) is not None]
    return [(path, one) for path, value in values for one in (value if isinstance(value, tuple) else (value,))]


def _require(holds: bool, path: str, wanted: str, value: Any) -> None:
    if not holds:
        raise UserError(f"{flag_of(path)} must be {wanted}, not {value}")
