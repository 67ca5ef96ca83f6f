"""Settings of the mention-matching reader and of its PPO, which are its own: those of the papers' networks stay theirs.

Many worlds, short fragments and many small steps; learning rate and entropy fall until the end of the budget.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from pydantic import PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.networks.matching import MatchingConfig
from rl_models.rllib.workers import Workers


def matching_learner(**changes: float) -> LearnerConfig:
    """PPO of the mention-matching reader: three passes over minibatches of 512 env steps."""
    learner = LearnerConfig(
        learning_rate=1.5e-3,
        num_epochs=3,
        num_minibatches=8,
        value_coef=0.5,
        entropy_coef=0.01,
        final_entropy_coef=0.005,
    )
    return dataclasses.replace(learner, **changes)  # type: ignore[arg-type]


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
    learner: LearnerConfig = field(default_factory=matching_learner)
    """How the mention-matching reader learns."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=256, fragment_length=16))
    """Processes and worlds of a trial of the mention-matching reader."""
    budget_env_steps: PositiveInt = 300_000
    """Number of env steps of training of the mention-matching reader."""

    def network(self) -> MatchingConfig:
        """The network with these widths."""
        return MatchingConfig(
            word_features=self.word_features,
            node_features=self.node_features,
            features=self.features,
            window=self.window,
            sharpness=self.sharpness,
            sees_names=self.sees_names,
            learns_words=self.learns_words,
        )


SMOKE_MATCHING = MatchingSettings(
    word_features=6,
    node_features=6,
    features=8,
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=512,
)
"""A network and a budget that learn nothing."""
