"""Settings of the mention-matching reader and of its PPO, separate from those of the papers' networks.

Many worlds, short fragments and many small steps; learning rate and entropy fall until the end of the budget.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import NonNegativeFloat, PositiveInt

from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.configuration import MAY_GROW, list_constants
from rl_models.networks.network_config import MatchingOptions
from rl_models.rllib.workers import Workers

if TYPE_CHECKING:
    from rl_models.networks.matching import MatchingConfig

MatchingRow: TypeAlias = Literal[
    "matching",
    "matching_named",
    "matching_frozen_words",
    "matching_two_tables",
    "matching_two_tables_contrastive",
    "matching_as_vector",
]
CHANGES: dict[MatchingRow, dict[str, Any]] = {
    "matching": {},
    "matching_named": {"sees_names": True, "unit_words": False},
    # In older runs the reader saw names, and this method did not.
    "matching_frozen_words": {"sees_names": False, "learns_words": False},
    "matching_two_tables": {"has_two_tables": True},
    "matching_two_tables_contrastive": {"has_two_tables": True, "contrastive_coef": 0.3},
    "matching_as_vector": {"reads": "vector"},
}
"""Method -> its settings: of names and words in the first two ablations, of a comparison in the others."""


def matching_learner(**changes: Any) -> LearnerConfig:
    """PPO of the mention-matching reader: three epochs of minibatches of 512 env steps."""
    learner = LearnerConfig(
        learning_rate=3e-3,
        num_epochs=3,
        num_minibatches=8,
        value_coef=0.5,
        entropy_coef=0.01,
        final_entropy_coef=0.005,
    )
    return dataclasses.replace(learner, **changes)


@dataclass(frozen=True)
class MatchingSettings(MatchingOptions):
    """Widths of the mention-matching reader, and how it learns."""

    contrastive_coef: NonNegativeFloat = 0.0
    """Weight, at least 0, of a contrastive loss without labels that matches each frame with its document."""
    shares_network: bool = True
    """Whether all agents of a team share one network; if not, each has its own."""
    learner: LearnerConfig = field(default_factory=matching_learner)
    """How the mention-matching reader learns."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=256, fragment_length=16))
    """Processes and worlds of a trial of the mention-matching reader."""
    budget_env_steps: PositiveInt = field(default=300_000, metadata=MAY_GROW)
    """Number of env steps of training of the mention-matching reader."""

    def network(self) -> MatchingConfig:
        """The network with these widths."""
        from rl_models.networks.matching import MatchingConfig

        return MatchingConfig(**list_constants(self, MatchingOptions), contrasts=self.contrastive_coef > 0)


SMOKE_MATCHING = MatchingSettings(
    word_features=6,
    node_features=6,
    features=8,
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=512,
)
"""A tiny network and budget, for tests."""
