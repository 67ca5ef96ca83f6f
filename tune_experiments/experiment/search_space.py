"""Search space of hyper-parameters, without values; `search/settings.py` draws from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import value_at
from tune_experiments.experiment.unread_flags import reads

DEFAULT_OBJECTIVE = "valid/success"
"""Objective of a search where an experiment shows no validation metric of its own."""


@dataclass(frozen=True)
class SearchSpace:
    """Domains and objective of a search.

    Attributes:
        domains: Dotted path -> `tune.loguniform(...)`, `tune.choice(...)` and so on; all combinations of
            `tune.grid_search([...])` are tried equally often.
        uses: `(config, method, path)` -> whether the method uses the value, by default as the configuration declares;
            a path comes after those it depends on.
        objective: Key of the log that is maximised.
    """

    domains: Mapping[str, Any]
    uses: Callable[[Any, str, str], bool] = reads
    objective: str = DEFAULT_OBJECTIVE

    def values(self, config: DataclassInstance, method: str) -> dict[str, Any]:
        """Path -> value, of the paths that the method uses."""
        return {path: value_at(config, path) for path in self.domains if self.uses(config, method, path)}
