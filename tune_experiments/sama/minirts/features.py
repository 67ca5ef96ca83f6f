"""The features of MiniRTS that predicates are written in, counted from what agents observe, for B worlds at once.

A moment is a dict of arrays: `team` [B, 16] finished objects of the team by type; `own` [B, N, 16] of each agent;
`idle`, `gathering`, `attacking` [B, N]; `seen`, `money` [B]. Where tests are Python, `texts` has the B states, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_ATTACK, C_GATHER, C_IDLE
from rl_envs.minirts.symbols import ARMY, NUM_CELLS, NUM_TYPES, PEASANT
from rl_models.planners.predicates.table import FeatureTable, OfferedFeature
from tune_experiments.sama.minirts.subgoals import word_of

_TYPES = tuple(word_of(kind) for kind in range(PEASANT, NUM_TYPES))


def moment_of(seen: Arrays) -> dict[str, Any]:
    """Features of observations.

    Args:
        seen: the world's own, name -> [B, N, ...].
    """
    kinds, commands, owned = seen["own_type"].astype(int), seen["command_type"], seen["owned"]
    peasants, fighters = owned & (kinds == PEASANT), owned & np.isin(kinds, ARMY)
    own = (owned[..., None] & (kinds[..., None] == np.arange(NUM_TYPES))).sum(2)
    return {
        "team": own.sum(1),
        "own": own,
        "idle": (peasants & (commands == C_IDLE)).sum(2),
        "gathering": (peasants & (commands == C_GATHER)).sum(2),
        "attacking": (fighters & (commands == C_ATTACK)).sum(2),
        "seen": np.rint(seen["count"][:, 0, :2].sum(1) * NUM_CELLS).astype(int),
        "money": seen["money"][:, 0].astype(int),
    }


def feature_table() -> FeatureTable:
    """The table of the game."""
    of_type = {
        "team": ("finished objects of this type that the whole team has", _of_team),
        "own": ("finished objects of this type that the agent commands", _of_agent),
    }
    plain = {
        "idle": "peasants of the agent that do nothing",
        "gathering": "peasants of the agent that mine",
        "attacking": "fighters of the agent that attack",
        "seen": f"cells of {NUM_CELLS} that are or were in sight",
        "money": "of the team",
    }
    table = {name: OfferedFeature(meaning, (_TYPES,), values) for name, (meaning, values) in of_type.items()}
    return table | {name: OfferedFeature(meaning, (), _plain(name)) for name, meaning in plain.items()}


def _of_team(arguments: tuple[str, ...], previous: Any, current: Any) -> Array:
    return _for_each(current, current["team"][:, PEASANT + _TYPES.index(arguments[0])])


def _of_agent(arguments: tuple[str, ...], previous: Any, current: Any) -> Array:
    values: Array = current["own"][..., PEASANT + _TYPES.index(arguments[0])]
    return values


def _plain(name: str) -> Any:
    def values(arguments: tuple[str, ...], previous: Any, current: Any) -> Array:
        found: Array = current[name]
        return found if found.ndim > 1 else _for_each(current, found)

    return values


def _for_each(current: Any, values: Array) -> Array:
    """The team's numbers [B] for each agent, [B, N]."""
    return np.repeat(values[:, None], current["own"].shape[1], axis=1)
