"""What a run changes against the paper, one sentence each."""

from __future__ import annotations

from typing import Any

from tune_experiments.common.config_path import value_at
from tune_experiments.common.sama.config import SamaConfig

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


def departures(config: SamaConfig, published: SamaConfig) -> list[str]:
    """Compare with the preset that has the paper's constants."""
    notes = ["the paper gives no numbers for its figures, and neither budget nor network sizes"]
    for path, name in _COMPARED.items():
        ours, theirs = value_at(config, path), value_at(published, path)
        if ours != theirs:
            notes.append(f"{name}: {_in_words(ours)}, the paper has {_in_words(theirs)}")
    return notes


def _in_words(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
