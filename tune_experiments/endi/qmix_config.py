"""Settings of the row `qmix`, EnDi's language-free reference in multi-agent RTFM (2023, section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.optimiser import OptimiserName, UnitInterval
from rl_models.algorithms.qmix import QmixLearnerConfig


@dataclass(frozen=True, kw_only=True)
class QmixSettings(QmixLearnerConfig):
    """How `qmix` learns, and its widths; EnDi gives none, and where QMIX's paper has another constant it is named."""

    sees_goal: bool = True
    """Whether observations contain the target as a symbol; no network reads the document."""
    word_features: PositiveInt = 16
    """Width of a symbol's embedding."""
    cell_features: tuple[PositiveInt, PositiveInt] = (32, 64)
    """Widths of the two layers that see a cell."""
    hidden_size: PositiveInt = 64
    """Width of each agent's memory; QMIX's paper has 64."""
    mixing_hidden_size: NonNegativeInt = 32
    """Width of the mixing network, at least 0; QMIX's paper has 32, and 0 adds values up (VDN)."""
    optimiser: OptimiserName = "adam"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99; QMIX's paper has rmsprop."""
    learning_rate: PositiveFloat = 3e-3
    """Learning rate at the start, above 0; QMIX's paper has 0.0005 throughout."""
    final_learning_rate_share: UnitInterval = 0.1
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget."""
    batch_size: PositiveInt = 16
    """Number of fragments in a minibatch; QMIX's paper has 32 episodes."""
    train_every_env_steps: PositiveInt = 16
    """Number of env steps that are played for each minibatch; QMIX's paper plays an episode."""
    update_target_every_updates: PositiveInt = 100
    """Number of optimiser steps between updates of the targets; QMIX's paper has 200 episodes."""


PAPER_QMIX = QmixSettings(
    cell_features=(64, 64),
    optimiser="rmsprop",
    learning_rate=5e-4,
    final_learning_rate_share=1.0,
    batch_size=32,
    train_every_env_steps=20,
    update_target_every_updates=200,
)
"""QMIX's published constants, an episode being taken for 20 env steps; what sees the cells is ours."""
