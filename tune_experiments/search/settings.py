"""Settings of a search for one method: points of its space, which `--search-over` may name.

A value depends on the search's seed, the number of the draw and the path alone, so methods have the same values of
shared paths, and a longer search begins with a shorter one's settings. Setting 0 is the configuration itself.
"""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from tune_experiments.core.config_json import Config, DataclassInstance, is_configuration
from tune_experiments.core.config_path import checked_path, value_at, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import DEFAULT_OBJECTIVE, SearchSpace
from tune_experiments.run.ray_cluster import import_tune

DRAWS_PER_SETTING = 20
"""Attempts to draw a setting different from earlier ones."""
_SIGNIFICANT_DIGITS = 3


@dataclass(frozen=True)
class Setting(Generic[Config]):
    """One point of the space for one method, with the values that the method uses by path; 0 is the start."""

    number: int
    config: Config
    values: dict[str, Any]


def draw_settings(space: SearchSpace, config: Config, method: str, count: int, seed: int) -> list[Setting[Config]]:
    """The configuration itself and `count - 1` different others; UserError if the space has fewer settings."""
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
            f"--methods those that use the searched fields"
        )
    return [Setting(number, each, space.values(each, method)) for number, each in enumerate(configs)]


def all_settings(space: SearchSpace, config: Config, method: str) -> list[Setting[Config]]:
    """The configuration itself and every combination of the values of a finite space, each once.

    Raises UserError for a continuous range, or a combination that is invalid for the configuration.
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
    """A value of a domain; numbers from a range get few digits, more where it is narrow, and do not leave it."""
    from ray.tune.search.sample import Float

    if not isinstance(domain, Float):
        return value
    in_widths = max(1.0, abs(value) / (domain.upper - domain.lower))
    digits = max(_SIGNIFICANT_DIGITS, 2 + math.ceil(math.log10(in_widths)))
    return min(max(float(f"{value:.{digits}g}"), domain.lower), domain.upper)


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


# ---------------------------------------------------------------------------------- spaces from the command line

_BETWEEN_VALUES = r",(?![^\[]*\])"
"""Commas outside of lists."""
_RANGES = ("uniform", "loguniform", "integers")
KINDS = "grid:a,b,c  choice:a,b,c  uniform:low:high  loguniform:low:high  integers:low:high"


def parse_search_space(
    words: Sequence[str], config: DataclassInstance, declared: SearchSpace | None, objective: str = DEFAULT_OBJECTIVE
) -> SearchSpace:
    """Search space from the command line, with objective and `uses` of the declared one.

    Raises UserError for an unknown field or kind, or a value that the field cannot take.
    """
    domains = dict(_domain(word, config) for word in words)
    if len(domains) < len(words):
        raise UserError("--search-over names a field twice; give each field one domain")
    if declared is None:
        return SearchSpace(domains, objective=objective)
    return dataclasses.replace(declared, domains=domains)


def _domain(word: str, config: DataclassInstance) -> tuple[str, Any]:
    path, equals, text = word.partition("=")
    kind, colon, rest = text.partition(":")
    if not equals or not colon or kind not in ("grid", "choice", *_RANGES):
        raise UserError(f"--search-over takes PATH=KIND:VALUES with KIND:VALUES one of {KINDS}, not {word!r}")
    try:
        path = checked_path(config, path)
        if is_configuration(value_at(config, path)):
            raise UserError(f"{path} is a group of fields; name one of them")
    except UserError as error:
        raise UserError(f"--search-over {word}: {error}") from None
    tune = import_tune()
    if kind not in _RANGES:
        values = [_value(path, one, config) for one in re.split(_BETWEEN_VALUES, rest)]
        return path, tune.grid_search(values) if kind == "grid" else tune.choice(values)
    low, high = _ends(path, kind, rest)
    return path, tune.randint(int(low), int(high) + 1) if kind == "integers" else getattr(tune, kind)(low, high)


def _ends(path: str, kind: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(one) for one in text.split(":"))
    except ValueError:
        raise UserError(f"--search-over {path}: a range must be LOW:HIGH, not {text!r}") from None
    if not -math.inf < low < high < math.inf:
        raise UserError(f"--search-over {path}: the low end must be below the high one and both finite, not {text!r}")
    if kind == "loguniform" and low <= 0:
        raise UserError(f"--search-over {path}: loguniform needs ends above 0, not {text!r}")
    if kind == "integers" and not (low.is_integer() and high.is_integer()):
        raise UserError(f"--search-over {path}: integers needs whole numbers as ends, not {text!r}")
    return low, high


def _value(path: str, word: str, config: DataclassInstance) -> Any:
    readings: list[Callable[[str], Any]] = [json.loads, str]
    refusals: list[str] = []
    for reading in readings:
        try:
            return value_at(with_overrides(config, {path: reading(word)}), path)
        except UserError as error:
            refusals.append(str(error))
        except ValueError:
            continue
    raise UserError(f"--search-over {path} cannot be {word!r}: {refusals[0]}")
