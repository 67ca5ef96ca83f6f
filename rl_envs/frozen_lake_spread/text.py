"""A state of the lake as one line, without holes and targets, and back."""

import re

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.frozen_lake_spread.maps import Lake
from rl_envs.frozen_lake_spread.world import NUM_AGENTS

_AGENT = r"Agent {number} is at row (\d+), column (\d+)( on a target)?\."
_LINE = re.compile(r"Step (\d{1,9})\. " + " ".join(_AGENT.format(number=number) for number in (1, 2)))


def describe(lake: Lake, cells: Array, target: Array, step: int) -> str:
    """The line of a state, counted from 1; `cells` [2], and `target` [2] int, which is 0 for none."""
    parts = [f"Step {step}."]
    for agent in range(NUM_AGENTS):
        row, column = divmod(int(cells[agent]), lake.side)
        arrived = " on a target" if target[agent] else ""
        parts.append(f"Agent {agent + 1} is at row {row + 1}, column {column + 1}{arrived}.")
    return " ".join(parts)


def parse(lake: Lake, text: str) -> Arrays:
    """The state of a line, for `restore` of one world: name -> [1, ...]."""
    found = _LINE.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError("it does not read as 'Step S. Agent 1 is at row R, column C. Agent 2 is at row R, column C.'")
    step, *rest = found.groups()
    cells, target = [], []
    for row, column, arrived in (rest[:3], rest[3:]):
        if not (1 <= int(row) <= lake.side and 1 <= int(column) <= lake.side):
            raise ValueError(f"rows and columns are 1 to {lake.side}")
        cells.append((int(row) - 1) * lake.side + int(column) - 1)
        target.append(_target(lake, cells[-1]) if arrived else 0)
    if lake.holes[cells].any():
        raise ValueError("an agent would be in a hole")
    if target[0] and target[0] == target[1]:
        raise ValueError("both agents would be on one target")
    return {
        "cells": np.array([cells], np.uint8),
        "target": np.array([target], np.uint8),
        "episode_length": np.array([int(step)], np.int32),
    }


def _target(lake: Lake, cell: int) -> int:
    if cell not in lake.targets:
        raise ValueError("there is no target where an agent would be on one")
    return int(np.flatnonzero(lake.targets == cell)[0]) + 1
