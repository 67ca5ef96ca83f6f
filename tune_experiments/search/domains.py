"""A search space from the command line: `--search-over learning_rate=loguniform:1e-4:1e-1 sync.components=grid:1,3,13`.

Fields are named by dotted path; a field of several values takes lists, `symbolic.hidden_sizes=grid:[64],[64,64]`. Words
are parsed, never evaluated.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tune_experiments.core.config_json import DataclassInstance, is_configuration
from tune_experiments.core.config_path import checked_path, value_at, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import DEFAULT_OBJECTIVE, SearchSpace
from tune_experiments.run.ray_cluster import import_tune

_BETWEEN_VALUES = r",(?![^\[]*\])"
"""Commas outside of lists."""
_RANGES = ("uniform", "loguniform", "integers")
KINDS = "grid:a,b,c  choice:a,b,c  uniform:low:high  loguniform:low:high  integers:low:high"


def parse_search_space(
    words: Sequence[str], config: DataclassInstance, declared: SearchSpace | None, objective: str = DEFAULT_OBJECTIVE
) -> SearchSpace:
    """Search space from the command line, with objective and users of the declared one.

    Raises:
        UserError: No such field or kind, or a value that the field cannot take.
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
    """A word as a value of the field's type."""
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
