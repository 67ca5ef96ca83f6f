"""Reward functions for a kitchen's sub-goals as Python text, as a language model would write them.

They say the same as the predicates of `subgoals.py`, over the records of `KitchenState.as_json`. The text is data: it
runs in the sandbox alone. This file must not know how.
"""

from __future__ import annotations

from tune_experiments.sama.kitchen.layout import Layout
from tune_experiments.sama.kitchen.subgoals import Subgoal

_FACED = """\
def reward(previous, current):
    steps = {{"north": [-1, 0], "south": [1, 0], "east": [0, 1], "west": [0, -1]}}
    was = previous["me"]
    now = current["me"]
    step = steps[{moment}["facing"]]
    faced = [{moment}["at"][0] + step[0], {moment}["at"][1] + step[1]]
    return 1 if {test}faced in {cells} else 0
"""


def reward_code(layout: Layout, one: Subgoal) -> str:
    """The function of a sub-goal."""
    cells = str([list(cell) for cell in layout.cells(one.target or one.origin)])
    if one.kind == "wait":
        return _FACED.format(moment="now", test="", cells=cells)
    hands = {"fill": ("dish", "soup"), "fetch": ("nothing", "dish")}
    before, after = hands.get(one.kind, (one.thing, "nothing"))
    test = f'was["holds"] == "{before}" and now["holds"] == "{after}" and '
    return _FACED.format(moment="was", test=test, cells=cells)
