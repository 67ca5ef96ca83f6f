"""Settings of the row `qmix`, EnDi's language-free reference in multi-agent RTFM (2023, section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tune_experiments.experiment.checks import check_above, check_at_least, check_between


@dataclass(frozen=True)
class QmixSettings:
    """How `qmix` learns, and its widths; EnDi gives none, QMIX's own paper those that are called published."""

    sees_goal: bool = True
    """The team is told as a symbol whom to beat; the document is read by nobody."""
    word_features: int = 16
    """Of a symbol."""
    cell_features: tuple[int, int] = (32, 64)
    """Of the two layers that see a cell."""
    hidden_size: int = 64
    """Of each agent's memory; published: 64."""
    mixing_hidden_size: int = 32
    """Of the mixing network; published: 32. 0 adds values up (VDN)."""
    optimiser: Literal["adam", "rmsprop"] = "adam"
    """Published: RMSProp with alpha 0.99."""
    learning_rate: float = 3e-3
    """At the start; it falls by the share that holds for all rows. Published: 0.0005 throughout."""
    clip_gradient: float = 10.0
    """Largest norm of all gradients together."""
    epsilon_env_steps: int = 50_000
    """Until which epsilon falls linearly from 1; published: 50,000."""
    final_epsilon: float = 0.05
    """Published: 0.05."""
    capacity: int = 5000
    """Fragments of one world that are kept; published: 5000 episodes."""
    fragments: int = 16
    """In a minibatch; published: 32 episodes."""
    env_steps_per_update: int = 16
    """Env steps that are played for each minibatch; published: an episode."""
    target_every_updates: int = 100
    """When targets are brought up to date; published: after 200 episodes."""


PAPER_QMIX = QmixSettings(
    cell_features=(64, 64),
    optimiser="rmsprop",
    learning_rate=5e-4,
    fragments=32,
    env_steps_per_update=20,
    target_every_updates=200,
)
"""QMIX's published constants, an episode being taken for 20 env steps; what sees the cells is ours."""


def check_qmix(config: Any) -> None:
    """Refuse numbers under `config.qmix` that no run can have."""
    whole = ("word_features", "cell_features", "hidden_size", "epsilon_env_steps", "capacity", "fragments")
    check_at_least(1, config, *(f"qmix.{name}" for name in whole))
    check_at_least(1, config, "qmix.env_steps_per_update", "qmix.target_every_updates")
    check_at_least(0, config, "qmix.mixing_hidden_size")
    check_above(0, config, "qmix.learning_rate", "qmix.clip_gradient")
    check_between(0, 1, config, "qmix.final_epsilon")
