"""Goals that can be checked: a deed (event) of a chef in a step, or a condition of the kitchen, for B kitchens.

A goal compares the states before and after one env step, so it can be attributed to a chef: a chef whose hand changed
took the thing from, or put it to, the place that it faced. A planner's sub-goals consist of these, such as "put an
onion into pot 0", "hold a dish", "serve a soup".

| deed | chef n has reached it when |
|---|---|
| `take` | it took the thing in this step from the place that it faced (also a soup into its dish) |
| `put` | it put the thing in this step to the place that it faced (a soup at the hatch is served) |
| `hold` | it holds the thing; `nothing` for empty hands |
| `face` | it faces the place |
| `contain` | for both chefs: counters and pots of the place have at least `count` of the thing (a pot has onions) |
| `cook`, `ready` | for both chefs: a pot of the place cooks, or its soup is done |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import FULL, NOTHING, ONION, POT, POT_ONIONS, READY, STAY, THINGS

Deed: TypeAlias = Literal["take", "put", "hold", "face", "contain", "cook", "ready"]


@dataclass(frozen=True)
class Goal:
    """A goal of one chef."""

    deed: Deed  # a row of the table above
    thing: str = "nothing"  # one of `THINGS`, for the deeds that name one
    place: str = ""  # one of the kitchen's places, or empty for any cell
    count: int = 1  # least number, for `contain`

    def __post_init__(self) -> None:
        """Refuse unknown words."""
        for what, word, known in (("deed", self.deed, get_args(Deed)), ("thing", self.thing, THINGS)):
            if word not in known:
                raise ValueError(f"a goal's {what} must be one of {', '.join(known)}, not {word!r}")
        if self.count < 1:
            raise ValueError(f"a goal's count must be at least 1, not {self.count}")


def reached(kitchen: Kitchen, goal: Goal, previous: Arrays, current: Arrays) -> Array:
    """Whether each chef reached the goal in the step between two states, [B, 2] bool.

    Args:
        kitchen: the layout.
        goal: the goal.
        previous: state before the env step, `[B, ...]`: `agent_cells`, `headings`, `held` and `contents`, copied.
        current: state after the env step, `[B, ...]`.
    """
    cells = kitchen.place_cells(goal.place) if goal.place else np.ones(kitchen.size, bool)
    return _TESTS[goal.deed](_TestArguments(kitchen, goal, cells, previous, current))


@dataclass(frozen=True)
class _TestArguments:
    """Arguments of a test; `cells` [H * W] bool are the cells of the goal's place."""

    kitchen: Kitchen
    goal: Goal
    cells: Array
    previous: Arrays
    current: Arrays

    @property
    def thing(self) -> int:
        return THINGS.index(self.goal.thing)

    def faces_place(self, state: Arrays) -> Array:
        """Whether each chef faces the goal's place, [B, 2] bool."""
        return np.asarray(self.cells[self.kitchen.front[state["agent_cells"] * STAY + state["headings"]]])

    def amount(self, of_cells: Array) -> Array:
        """Sum over the goal's place, equal for both chefs: [B, H * W] int or bool -> [B, 2] int64."""
        total = (of_cells * self.cells).sum(1)
        return np.repeat(total[:, None], len(self.kitchen.starts), axis=1)


def _takes(moment: _TestArguments) -> Array:
    held, holds = moment.previous["held"], moment.current["held"]
    return (held != moment.thing) & (holds == moment.thing) & moment.faces_place(moment.previous)


def _puts(moment: _TestArguments) -> Array:
    held, holds = moment.previous["held"], moment.current["held"]
    return (held == moment.thing) & (holds == NOTHING) & (held != NOTHING) & moment.faces_place(moment.previous)


def _holds(moment: _TestArguments) -> Array:
    return np.asarray(moment.current["held"] == moment.thing)


def _faces(moment: _TestArguments) -> Array:
    return moment.faces_place(moment.current)


def _contains(moment: _TestArguments) -> Array:
    contents = moment.current["contents"].astype(np.int64)
    of_cells = ((contents == moment.thing) & (contents != NOTHING)).astype(np.int64)
    if moment.thing == ONION:
        of_cells += np.clip(contents - POT, 0, POT_ONIONS)
    return np.asarray(moment.amount(of_cells) >= moment.goal.count)


def _cooks(moment: _TestArguments) -> Array:
    contents = moment.current["contents"]
    return np.asarray(moment.amount((contents >= FULL) & (contents < READY)) > 0)


def _is_ready(moment: _TestArguments) -> Array:
    return np.asarray(moment.amount(moment.current["contents"] == READY) > 0)


_TESTS: dict[str, Callable[[_TestArguments], Array]] = {
    "take": _takes,
    "put": _puts,
    "hold": _holds,
    "face": _faces,
    "contain": _contains,
    "cook": _cooks,
    "ready": _is_ready,
}
