"""What a search varies in Overcooked, and population based training with it: constants of PPO, around the laptop's.

Ranges reach from the published self-play constants over the laptop's. Their kitchens differ in these by factors of two
and more, so a population has something to find in each.
"""

from __future__ import annotations

from typing import Any

from tune_experiments.run.ray_cluster import import_tune
from tune_experiments.search.search import SearchSpace


def search_space() -> SearchSpace:
    """Of all rows that learn by PPO, ranked by reward in validation, which has no shaping."""
    tune = import_tune()
    domains: dict[str, Any] = {
        "learner.learning_rate": tune.loguniform(1.5e-4, 3e-3),
        "learner.entropy_coef": tune.loguniform(0.01, 0.3),
        "learner.value_coef": tune.loguniform(0.01, 0.5),
        "learner.clip_range": tune.uniform(0.05, 0.3),
    }
    return SearchSpace(domains, objective="valid/reward")
