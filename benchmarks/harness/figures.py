"""Figures: what a benchmark says, how parts are found, and how figures are written.

A part is a module of this package with `measure()`, which yields figures whose names begin with the part's own. This
file must not know what is measured.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

RATIO = "ratio"
"""Unit of figures without one; they depend least on the machine and are listed first."""


@dataclass(frozen=True)
class Figure:
    """One measured number: a line of `bench.jsonl`."""

    name: str
    value: float
    unit: str


def part_names(package: ModuleType) -> list[str]:
    """Names of all parts: the package's modules that are no packages and not private."""
    found = pkgutil.iter_modules(package.__path__)
    return sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_"))


def load_parts(package: ModuleType, names: Sequence[str]) -> list[Any]:
    """The modules of these parts.

    Raises:
        ValueError: there is no such part.
    """
    known = part_names(package)
    for name in names:
        if name not in known:
            raise ValueError(f"no benchmark is called {name!r}; there are: {', '.join(known)}")
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def ratios_first(figures: Iterable[Figure]) -> list[Figure]:
    """Ratios before absolute figures, otherwise in the order of measuring."""
    return sorted(figures, key=lambda figure: figure.unit != RATIO)


def write_lines(figures: Iterable[Figure], path: Path) -> None:
    """Write one `{"name", "value", "unit"}` a line."""
    path.write_text("".join(json.dumps(asdict(figure)) + "\n" for figure in figures))


def table(figures: Iterable[Figure]) -> str:
    """The same for people."""
    rows = [
        (figure.name, f"{figure.value:,.4g}" if figure.value < 1000 else f"{figure.value:,.0f}", figure.unit)
        for figure in figures
    ]
    name_width, value_width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "\n".join(f"{name:<{name_width}}  {value:>{value_width}}  {unit}" for name, value, unit in rows)
