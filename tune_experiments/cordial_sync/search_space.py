"""The search space of every experiment on Gridworld-FurnMove: dotted paths of `config.Config` and Ray Tune's domains.

One space for all methods; `uses` says which of it a method has. What it holds are the settings that the paper leaves
open or gives two readings of, and those that PPO adds. Ranges reach from the authors' constants over the laptop's.
"""

from __future__ import annotations

from typing import Any

from tune_experiments.cordial_sync.config import Config
from tune_experiments.cordial_sync.methods import FAMILIES, method_of
from tune_experiments.run.ray_cluster import import_tune
from tune_experiments.search.search import SearchSpace

_OF_PPO = ("learner.gae_lambda", "learner.num_epochs")


def search_space() -> SearchSpace:
    """Of any of the methods, ranked by success in validation rooms."""
    tune = import_tune()
    domains: dict[str, Any] = {
        "learner.algorithm": tune.grid_search(["ppo", "impala"]),
        "learner.is_joint": tune.grid_search([True, False]),
        "learner.gae_lambda": tune.choice([0.9, 0.95, 1.0]),
        "learner.num_epochs": tune.choice([1, 2, 4]),
        "learner.value_coef": tune.loguniform(0.05, 0.5),
        "cordial.form": tune.choice(["code", "paper"]),
        "cordial.floor": tune.loguniform(0.005, 0.1),
        "cordial.decline": tune.uniform(0.1, 0.6),
    }
    for family in FAMILIES:
        domains[f"{family}.learning_rate"] = tune.loguniform(1e-4, 1e-2)
        domains[f"{family}.entropy_coef"] = tune.loguniform(5e-4, 2e-2)
    return SearchSpace(domains, uses)


def uses(config: Config, name: str, path: str) -> bool:
    """Whether what stands at a path of the space changes how a method trains."""
    method = method_of(name)
    group, _, field = path.partition(".")
    if group in FAMILIES:
        return group == method.family and not (field == "entropy_coef" and method.has_cordial)
    if group == "cordial":
        return method.has_cordial and not (field == "decline" and config.cordial.decline_episodes)
    if path in _OF_PPO:
        return config.learner.algorithm == "ppo"
    # A central mind has one probability for what all agents do, so there is nothing to take apart.
    return not (path == "learner.is_joint" and method.family == "central")
