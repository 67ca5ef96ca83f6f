"""Measurements: one named number each; how parts are found, and how measurements are printed and written.

A part is a module of the package `benchmarks` with a function `measure()`. It yields measurements, whose names begin
with the part's name.
"""

import importlib
import json
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

RATIO = "ratio"
"""Unit of dimensionless measurements; they depend least on the machine and are listed first."""


@dataclass(frozen=True)
class Measurement:
    """One measured number: a line of `bench.jsonl`."""

    name: str
    value: float
    unit: str


def part_names(package: ModuleType) -> list[str]:
    """Names of all parts: the public modules of the package."""
    found = pkgutil.iter_modules(package.__path__)
    return sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_"))


def load_parts(package: ModuleType, names: Sequence[str]) -> list[Any]:
    """The modules of these parts.

    Raises ValueError where there is no such part.
    """
    known = part_names(package)
    for name in names:
        if name not in known:
            raise ValueError(f"no benchmark is called {name!r}; there are: {', '.join(known)}")
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def ratios_first(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Ratios first, then absolute measurements; each group keeps its order."""
    return sorted(measurements, key=lambda measurement: measurement.unit != RATIO)


def write_lines(measurements: Iterable[Measurement], path: Path) -> None:
    """Write one JSON object `{"name", "value", "unit"}` per line."""
    path.write_text("".join(json.dumps(asdict(measurement)) + "\n" for measurement in measurements))


def table(measurements: Iterable[Measurement]) -> str:
    """The measurements as aligned text."""
    rows = [(one.name, f"{one.value:,.{'4g' if one.value < 1000 else '0f'}}", one.unit) for one in measurements]
    name_width, value_width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "\n".join(f"{name:<{name_width}}  {value:>{value_width}}  {unit}" for name, value, unit in rows)
