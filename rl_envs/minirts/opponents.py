"""Opponents by name: which script, and which types it trains.

`simple`, `medium` and `strong` draw as the engine does; `medium_TYPE` and `simple_TYPE` train one type; `medium_two`
and `medium_three` draw two or three of six types in each episode (SAMA, section 5); `passive` does nothing. `_towers`
at the end lets a script build towers.
"""

from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.symbols import ARMY, MAX_TYPES, MEDIUM, PASSIVE, SIMPLE, STRONG, UNITS

KINDS = {"passive": PASSIVE, "simple": SIMPLE, "medium": MEDIUM, "strong": STRONG}
_NUMBERS = {"two": 2, "three": 3}
_TOWERS = "_towers"


@dataclass(frozen=True)
class Opponent:
    """A script."""

    kind: int  # number of the script
    unit_type: int | None = None  # the only type that it trains; None: chosen by the script
    num_types: int = 0  # number of types drawn per episode; 0: drawn by the script
    towers: bool = False  # whether it builds towers

    def types(self, uniforms: Array) -> Array:
        """Forced types [3], -1 for none; `uniforms` [6] decide which ones are drawn."""
        forced = np.full(MAX_TYPES, -1, np.int8)
        if self.unit_type is not None:
            forced[0] = self.unit_type
        if self.num_types:
            forced[: self.num_types] = np.array(ARMY)[np.argsort(uniforms, kind="stable")[: self.num_types]]
        return forced


def get_opponent(name: str) -> Opponent:
    """The opponent with a name; ValueError for an unknown name."""
    plain, towers = name.removesuffix(_TOWERS), name.endswith(_TOWERS)
    kind, _, detail = plain.partition("_")
    known = {UNITS[unit_type]: unit_type for unit_type in ARMY}
    if plain in KINDS:
        return Opponent(KINDS[kind], towers=towers)
    if kind in ("simple", "medium") and detail in known:
        return Opponent(KINDS[kind], unit_type=known[detail], towers=towers)
    if kind == "medium" and detail in _NUMBERS:
        return Opponent(MEDIUM, num_types=_NUMBERS[detail], towers=towers)
    kinds, types = ", ".join(KINDS), ", ".join(known)
    raise ValueError(
        f"no opponent is called {name!r}: write one of {kinds}, or medium_ or simple_ and a type of {types}, or "
        "medium_two or medium_three, each with _towers at its end for towers"
    )
