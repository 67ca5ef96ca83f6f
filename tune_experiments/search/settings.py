"""Settings that a search tries with one method: points of its space (`experiment/search_space.py`).

A value depends on the search's seed, the number of the draw and the path alone, so methods have the same values of
shared paths, and a longer search begins with a shorter one's settings. Setting 0 is the configuration itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from tune_experiments.core.config_json import Config
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace

DRAWS_PER_SETTING = 20
"""Attempts to draw a setting different from earlier ones."""
_SIGNIFICANT_DIGITS = 3


@dataclass(frozen=True)
class Setting(Generic[Config]):
    """One point of the space for one method.

    Attributes:
        number: Number of the setting; 0 is the configuration that the search started from.
        config: Configuration to train.
        values: Path -> value, of the paths that the method uses.
    """

    number: int
    config: Config
    values: dict[str, Any]


def draw_settings(space: SearchSpace, config: Config, method: str, count: int, seed: int) -> list[Setting[Config]]:
    """The configuration itself and `count - 1` different others.

    Raises:
        UserError: The space has fewer settings, or a draw is invalid for the configuration.
    """
    configs = [config]
    for number in range(1, count * DRAWS_PER_SETTING):
        if len(configs) == count:
            break
        drawn = _draw(space, config, method, number, seed)
        if drawn not in configs:
            configs.append(drawn)
    if len(configs) < count:
        raise UserError(
            f"{method} has {len(configs)} different settings in the search space; lower --search to that, or name with "
            f"--methods those that use what is searched"
        )
    return [Setting(number, each, space.values(each, method)) for number, each in enumerate(configs)]


def all_settings(space: SearchSpace, config: Config, method: str) -> list[Setting[Config]]:
    """The configuration itself and every combination of the values of a finite space, each once.

    Raises:
        UserError: A continuous range, or a combination that is invalid for the configuration.
    """
    configs = [config]
    for combination in itertools.product(*(_finite_values(path, domain) for path, domain in space.domains.items())):
        changed = config
        for path, value in zip(space.domains, combination, strict=True):
            if space.uses(changed, method, path):
                changed = with_overrides(changed, {path: value})
        if changed not in configs:
            configs.append(changed)
    return [Setting(number, each, space.values(each, method)) for number, each in enumerate(configs)]


def finite_choices(domain: Any) -> list[Any] | None:
    """Values of a finite domain of Ray Tune; None for a range."""
    values = domain["grid_search"] if isinstance(domain, dict) else getattr(domain, "categories", None)
    return None if values is None else list(values)


def rounded(value: Any, domain: Any) -> Any:
    """A value of a domain; numbers from a range get few digits."""
    from ray.tune.search.sample import Float

    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}") if isinstance(domain, Float) else value


def _finite_values(path: str, domain: Any) -> Sequence[Any]:
    values = finite_choices(domain)
    if values is None:
        raise UserError(f"--search-by grid needs a list of values, and {path} has a range; write {path}=grid:a,b,c")
    return values


def _draw(space: SearchSpace, config: Config, method: str, number: int, seed: int) -> Config:
    grids = 1
    for path, domain in space.domains.items():
        if isinstance(domain, dict):
            choices = domain["grid_search"]
            value = choices[number // grids % len(choices)]
            grids *= len(choices)
        else:
            value = domain.sample(random_state=np.random.default_rng([seed, number, *path.encode()]))
        if space.uses(config, method, path):
            config = with_overrides(config, {path: rounded(value, domain)})
    return config
