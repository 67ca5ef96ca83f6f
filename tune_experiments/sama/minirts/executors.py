"""Scripted agents, who carry commands out by fixed rules."""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Arrays
from rl_envs.minirts.factored import C_CONTINUE, MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.tick import RUNNING
from tune_experiments.red.decisions import per_unit_actions
from tune_experiments.red.scripted import team_commands
from tune_experiments.sama.minirts.world import PlannedRts

FORMS = {False: "per_unit", True: "collective"}
"""Form of the actions of scripted and of learned teams."""


def scripted(world: PlannedRts) -> Arrays:
    """The 17 phrases by fixed rules (`red/scripted.py`); nothing is learned."""
    tables = np.zeros((world.num_worlds, world.num_agents, MAX_LISTED, len(UNIT_FACTORS)), np.int32)
    tables[..., 0] = C_CONTINUE
    for index in np.flatnonzero(world.games["result"] == RUNNING).tolist():
        tables[index] = team_commands(world.seen, index, world.latest_commands(index))
    return per_unit_actions(tables)
