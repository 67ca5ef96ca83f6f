"""What a run changes against the paper, one sentence each."""

from __future__ import annotations

from tune_experiments.results.differences import differences
from tune_experiments.sama.config import SamaConfig

_COMPARED = {
    "learner.learning_rate": "learning rate",
    "learner.gamma": "discount",
    "network.features": "width of symbols and words",
    "max_episode_steps": "env steps of an episode",
    "test_episodes": "episodes of a test",
    "reward_source": "rewards written by",
    "planner": "planner",
    "encoder.name": "text encoder",
    "is_greedy": "likeliest actions in tests",
}


def deviations(config: SamaConfig, published: SamaConfig) -> list[str]:
    """Compare with the preset that has the paper's constants."""
    notes = ["the paper gives no numbers for its figures, and neither budget nor network sizes"]
    return [*notes, *differences(config, published, _COMPARED).values()]
