"""Types that several configurations share, what a continued run may change, and copies of constants."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

UnitInterval = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""
Precision: TypeAlias = Literal["float32", "bfloat16"]
"""Data type (dtype) of a network's matrix products."""
DeviceChoice: TypeAlias = Literal["auto", "cpu", "cuda"]
"""`auto` is a GPU if this process may use one, else the CPU; `cpu` never uses a GPU; `cuda` requires one."""
CordialForm = Literal["code", "paper"]
"""Form of the CORDIAL loss: that of the authors' code, or of the paper's text."""


WhenContinued: TypeAlias = Literal["changes", "grows", "gains", "turns on", "stays"]
CONTINUED = "when_continued"
"""Key of a field's metadata: how its value may change when a run is continued (`WhenContinued`). `changes`: how or
where something is computed. `grows`: a budget. `gains`: a tuple that gets more entries. `turns on`: a switch. A field
without it is as in the base class, else fixed."""
MAY_CHANGE: dict[str, Any] = {CONTINUED: "changes"}
MAY_GROW: dict[str, Any] = {CONTINUED: "grows"}
MAY_TURN_ON: dict[str, Any] = {CONTINUED: "turns on"}
MAY_GAIN: dict[str, Any] = {CONTINUED: "gains"}
STAYS: dict[str, Any] = {CONTINUED: "stays"}


Unread: TypeAlias = dict[str, str]
"""Field, or group of fields, that a method does not read -> what to do instead, in which `{group}` stands for the
beginning of the flags beside it; the result of a configuration's `unread_by(method)`."""


def fields_of_others(method: str, readers: Mapping[str, Collection[str]]) -> Unread:
    """Fields that only other methods read, from the methods that read each."""
    others = {name: methods for name, methods in readers.items() if method not in methods}
    return {name: f"train {' or '.join(methods)}, or leave it out" for name, methods in others.items()}


def fields_but(config: Any, group: str, kept: str, cure: str) -> Unread:
    """All fields of a group of a configuration but one."""
    names = [field.name for field in fields(getattr(config, group)) if field.name != kept]
    return {f"{group}.{name}": cure for name in names}


def list_constants(config: object, declared: type) -> dict[str, Any]:
    """The fields that a dataclass declares, as an instance of a subclass has them, name -> value."""
    return {field.name: getattr(config, field.name) for field in fields(declared)}
