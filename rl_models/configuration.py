"""Parts that several configurations share: a range of numbers, and a copy of constants between dataclasses."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from pydantic import Field

UnitInterval = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""


def constants_of(config: object, declared: type) -> dict[str, Any]:
    """The fields that a dataclass declares, as an instance of a subclass has them, name -> value."""
    return {field.name: getattr(config, field.name) for field in fields(declared)}
