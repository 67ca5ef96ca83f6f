"""What a run changes against the published self-play agents, one sentence each."""

from __future__ import annotations

from typing import Any

from tune_experiments.common.config_path import value_at
from tune_experiments.common.overcooked.config import OvercookedConfig

_COMPARED = {
    "network.convolutions": "channels of the convolutions",
    "network.first_kernel": "side of the first kernel",
    "network.dense": "dense layers",
    "learner.learning_rate": "learning rate",
    "learner.final_learning_rate_share": "share of the learning rate at the end",
    "learner.gamma": "discount",
    "learner.lambda_": "lambda of GAE",
    "learner.clip": "clipping range",
    "learner.epochs": "passes over a batch",
    "learner.value_weight": "weight of the value error",
    "learner.entropy_weight": "entropy weight",
    "learner.final_entropy_weight": "entropy weight at the end",
    "max_episode_steps": "env steps of an episode",
    "budget_env_steps": "env steps of training",
}


def departures(config: OvercookedConfig, published: OvercookedConfig) -> list[str]:
    """Compare with the preset that has the published constants."""
    notes = ["published constants differ by kitchen within the ranges whose middle is the preset paper"]
    for path, name in _COMPARED.items():
        ours, theirs = value_at(config, path), value_at(published, path)
        if ours != theirs:
            notes.append(f"{name}: {_in_words(ours)}, published is {_in_words(theirs)}")
    batches = [each.num_worlds * each.workers.fragment_length for each in (config, published)]
    if batches[0] != batches[1]:
        notes.append(f"env steps of an update: {batches[0]:,}, published is {batches[1]:,}")
    return notes


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
