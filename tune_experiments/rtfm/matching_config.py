"""Settings of the mention-matching reader and of its PPO, which are its own: those of the papers' networks stay theirs.

Many worlds, short fragments and many small steps; learning rate and entropy fall until the end of the budget.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.networks.matching import MatchingConfig
from rl_models.networks.mentions import Reads
from rl_models.rllib.workers import Workers

MatchingRow: TypeAlias = Literal[
    "matching",
    "matching_frozen_words",
    "matching_two_tables",
    "matching_two_tables_contrastive",
    "matching_as_vector",
]
CHANGES: dict[MatchingRow, dict[str, Any]] = {
    "matching": {},
    "matching_frozen_words": {"sees_names": False, "learns_words": False},
    "matching_two_tables": {"has_two_tables": True},
    "matching_two_tables_contrastive": {"has_two_tables": True, "contrastive_coef": 0.3},
    "matching_as_vector": {"reads": "vector"},
}
"""Row -> settings that it changes: the network, one for new names, and the network without one of its comparisons."""


def matching_learner(**changes: Any) -> LearnerConfig:
    """PPO of the mention-matching reader: three passes over minibatches of 512 env steps."""
    learner = LearnerConfig(
        learning_rate=1.5e-3,
        num_epochs=3,
        num_minibatches=8,
        value_coef=0.5,
        entropy_coef=0.01,
        final_entropy_coef=0.005,
    )
    return dataclasses.replace(learner, **changes)


@dataclass(frozen=True)
class MatchingSettings:
    """Widths of the mention-matching reader, and how it learns."""

    word_features: PositiveInt = 32
    """Width of a word's vector."""
    node_features: PositiveInt = 32
    """Width of the state of a thing in the room."""
    features: PositiveInt = 128
    """Width of what the heads see."""
    window: PositiveInt = 4
    """Number of words to either side of a mention that are compared with the other things."""
    sharpness: PositiveFloat = 4.0
    """Sharpness of the attention to mentions at the start, above 0; it is learned."""
    sees_names: bool = True
    """Whether things hold the vectors of their names, beside what the document says of them."""
    learns_words: bool = True
    """Whether the vectors of words are learned; if not, they stay random, and new words are as good as known ones."""
    has_two_tables: bool = False
    """Whether documents have a table of words of their own, which takes the comparison of names with words out."""
    reads: Reads = "pairs"
    """What things learn from the document: pairs, how mentions of two things stand to each other, or vector, the words
    around their own mention, which takes the comparison of these words out."""
    contrastive_coef: NonNegativeFloat = field(default=0.0, metadata={"renamed_from": "contrastive_weight"})
    """Weight, at least 0, of a contrastive loss without labels that finds each frame's document among others."""
    shares_network: bool = True
    """Whether all agents of a team share one network; if not, each has its own."""
    learner: LearnerConfig = field(default_factory=matching_learner)
    """How the mention-matching reader learns."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=256, fragment_length=16))
    """Processes and worlds of a trial of the mention-matching reader."""
    budget_env_steps: PositiveInt = 300_000
    """Number of env steps of training of the mention-matching reader."""

    def network(self) -> MatchingConfig:
        """The network with these widths."""
        names = {one.name for one in dataclasses.fields(MatchingConfig)} & vars(self).keys()
        return MatchingConfig(**{name: getattr(self, name) for name in names}, contrasts=self.contrastive_coef > 0)


SMOKE_MATCHING = MatchingSettings(
    word_features=6,
    node_features=6,
    features=8,
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=512,
)
"""A network and a budget that learn nothing."""
