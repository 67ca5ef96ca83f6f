"""What one run of training, or one stage of a curriculum, is made of. This file must not know any experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_models.algorithms.objective import Impala
from rl_models.policy import TeamPolicy
from rl_models.rllib.workers import TrainingPlan

Episodes = dict[str, np.ndarray]
"""Metric name -> one value an episode, [K] float64; keys that start with `_` are arrays for pictures."""


@dataclass(frozen=True, kw_only=True)
class TrialPlan(TrainingPlan):
    """One training run, ready to be built: what is trained, for how long, and what is measured and kept meanwhile.

    Attributes:
        budget_env_steps: when training ends.
        validate_every_env_steps, checkpoint_every_env_steps: how often.
        kept_checkpoints: of the newest; those with which a stage ended, and those with its best validation, stay too.
        validate: metrics of the present policy on validation worlds, logged under `valid/`.
        chosen_by: metric of `validate`; the weights with which it was highest are handed on and tested, not the last.
        make_algorithm: who trains, from the finished plan: RLlib's algorithm where none is named.
    """

    budget_env_steps: int
    validate_every_env_steps: int
    checkpoint_every_env_steps: int
    validate: Callable[[TeamPolicy], Episodes]
    chosen_by: str | None = None
    kept_checkpoints: int = 3
    make_algorithm: Callable[[TrialPlan], Any] | None = None

    def __post_init__(self) -> None:
        """Refuse processes that the algorithm would not use, and learners that would have no world."""
        self.workers.check_learners()
        if self.workers.aggregators and not isinstance(self.objective, Impala):
            name = type(self.objective).__name__.upper()
            raise ValueError(f"--workers.aggregators is for IMPALA, and this method trains with {name}: leave it at 0")
