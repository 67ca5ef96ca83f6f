"""What a run changes against the published self-play agents, one sentence each."""

from __future__ import annotations

from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.results.differences import differences

_COMPARED = {
    "network.channels": "channels of the convolutions",
    "network.first_kernel": "side of the first kernel",
    "network.hidden_sizes": "dense layers",
    "learner.learning_rate": "learning rate",
    "learner.final_learning_rate_share": "share of the learning rate at the end",
    "learner.gamma": "discount",
    "learner.gae_lambda": "lambda of GAE",
    "learner.clip_range": "clipping range",
    "learner.num_epochs": "passes over a batch",
    "learner.value_coef": "weight of the value error",
    "learner.entropy_coef": "entropy weight",
    "learner.final_entropy_coef": "entropy weight at the end",
    "max_episode_steps": "env steps of an episode",
    "budget_env_steps": "env steps of training",
}


def deviations(config: OvercookedConfig, published: OvercookedConfig) -> list[str]:
    """Compare with the preset that has the published constants."""
    notes = ["published constants differ by kitchen within the ranges whose middle is the preset paper"]
    notes += differences(config, published, _COMPARED, "published is").values()
    batches = [each.num_worlds * each.workers.fragment_length for each in (config, published)]
    if batches[0] != batches[1]:
        notes.append(f"env steps of an update: {batches[0]:,}, published is {batches[1]:,}")
    return notes
