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

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from rl_envs.core.arguments import one_of, whole
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
        one_of(get_args(Deed), deed=self.deed)
        one_of(THINGS, thing=self.thing)
        whole("count", self.count, 1)


def reached(kitchen: Kitchen, goal: Goal, previous: Arrays, current: Arrays) -> Array:
    """Whether each chef reached the goal in the env step between two states, [B, 2] bool.

    `previous` is a copy of `agent_cells`, `headings`, `held` and `contents` [B, ...] before it, `current` the state [B,
    ...] after it.
    """
    cells = kitchen.place_cells(goal.place) if goal.place else np.ones(kitchen.size, bool)
    thing, held, holds = THINGS.index(goal.thing), previous["held"], current["held"]
    contents = current["contents"].astype(np.int64)

    def faces_place(state: Arrays) -> Array:
        return np.asarray(cells[kitchen.front[state["agent_cells"] * STAY + state["headings"]]])

    match goal.deed:
        case "take":
            return (held != thing) & (holds == thing) & faces_place(previous)
        case "put":
            return (held == thing) & (holds == NOTHING) & (held != NOTHING) & faces_place(previous)
        case "hold":
            return np.asarray(holds == thing)
        case "face":
            return faces_place(current)
        case "contain":
            counted = ((contents == thing) & (contents != NOTHING)).astype(np.int64)
            if thing == ONION:
                counted += np.clip(contents - POT, 0, POT_ONIONS)
        case "cook":
            counted = (contents >= FULL) & (contents < READY)
        case "ready":
            counted = contents == READY
    is_met = (counted * cells).sum(1) >= (goal.count if goal.deed == "contain" else 1)
    return np.repeat(is_met[:, None], len(kitchen.starts), axis=1)
