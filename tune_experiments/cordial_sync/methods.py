"""The methods of A Cordial Sync: how a team draws its joint action, and whether CORDIAL replaces the entropy bonus.

Four families: independent agents (`marginal`; without messages, `no_communication`), agents that draw a mixture
component together (`sync`), and one policy for all (`central`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

METRICS = ("md_spl", "success", "episode_length", "final_distance", "invalid_probability", "tvd")
"""Metrics of the paper's tables."""


Family: TypeAlias = Literal["no_communication", "marginal", "sync", "central"]
MethodName: TypeAlias = Literal[
    "no_communication",
    "no_communication_cordial",
    "marginal",
    "marginal_cordial",
    "sync_1",
    "sync_1_cordial",
    "sync_2",
    "sync_2_cordial",
    "sync_4",
    "sync_4_cordial",
    "sync_13",
    "sync_13_cordial",
    "central",
    "central_cordial",
]
FAMILIES: tuple[Family, ...] = get_args(Family)
METHODS: tuple[MethodName, ...] = get_args(MethodName)


@dataclass(frozen=True)
class Method:
    """One method, a row of a table.

    Attributes:
        family: family of its learning settings.
        components: mixture components m; with one, every agent's policy is its own (marginal).
        has_cordial: trained with CORDIAL; without, with an entropy bonus.
    """

    family: Family
    components: int
    has_cordial: bool


def parse_method(name: str) -> Method:
    """`sync_4_cordial` -> SYNC with four components and CORDIAL.

    Raises:
        ValueError: no method has this name.
    """
    if name not in METHODS:
        raise ValueError(f"no method is called {name!r}: choose one of {', '.join(METHODS)}")
    row = name.removesuffix("_cordial")
    if row.startswith("sync_"):
        return Method("sync", int(row.removeprefix("sync_")), row != name)
    family = next(family for family in FAMILIES if family == row)
    return Method(family, 1, row != name)
