"""The rules for a single agent (MESSENGER, section 3), with the order of effects of the authors' engine.

Stage 1: entities do not move, and one touch ends the episode. Stages 2 and 3: entities move before the avatar, half a
cell per step, and see its old position. Two sprites touch if they overlap, so an entity between cells is touched in two
or four of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.messenger.symbols import ENEMY, GOAL, MESSAGE, SIDE, STEPS

HALF_CELL_STEPS = np.array(STEPS, np.int64)
CELL_STEPS = 2 * HALF_CELL_STEPS
LAST_PLACE = 2 * (SIDE - 1)
PICKED_UP, WON, LOST = 0.5, 1.0, -1.0
_FIRST_DECOY = 3


@dataclass
class Outcome:
    """The result of a step."""

    reward: Array  # [B] float64, the same for every agent
    over: Array  # [B] bool, the game ended
    won: Array  # [B] bool, the game was won


class SingleRules:
    """Applies steps to a world's state, for B games at once."""

    def __init__(self, stage: int) -> None:
        """Select the rules of a stage, 1 to 3."""
        self._stage = stage

    def play(self, state: Arrays, actions: Array, entity_moves: Callable[[], Array]) -> Outcome:
        """Apply one step, actions [B, 1], to the state, name -> [B, ...].

        `entity_moves` returns the entities' actions [B, E] for the present state.
        """
        if self._stage > 1:
            steps = HALF_CELL_STEPS[entity_moves()] * state["entity_here"][..., None]
            state["entity_places"] = moved(state["entity_places"], steps)
        state["avatar_places"] = moved(state["avatar_places"], CELL_STEPS[actions])
        apart = abs(state["entity_places"] - state["avatar_places"])
        touch = (apart[..., 0] < 2) & (apart[..., 1] < 2) & state["entity_here"]
        return self._one_touch(state, touch) if self._stage == 1 else self._effects(state, touch)

    def _one_touch(self, state: Arrays, touch: Array) -> Outcome:
        """Stage 1: the right entity is the goal for an avatar with the message, else the message."""
        holds = state["has_message"][:, 0]
        won = np.where(holds, touch[:, GOAL], touch[:, MESSAGE])
        over = np.logical_or.reduce(touch, axis=1)
        return Outcome(np.where(won, WON, over * LOST), over, won)

    def _effects(self, state: Arrays, touch: Array) -> Outcome:
        """Stages 2 and 3: enemy and decoys kill, -1 each; then goal and message, by what the avatar held before."""
        holds = state["has_message"][:, 0]
        deaths = touch[:, ENEMY] + touch[:, _FIRST_DECOY:].sum(1)
        survives = deaths == 0
        too_early = survives & touch[:, GOAL] & ~holds
        won = survives & touch[:, GOAL] & holds
        picks_up = survives & touch[:, MESSAGE] & ~holds & ~too_early
        state["has_message"][:, 0] |= picks_up
        state["entity_here"][:, MESSAGE] &= ~touch[:, MESSAGE]
        state["entity_here"][:, GOAL] &= ~won
        state["avatar_alive"][:, 0] &= survives & ~too_early
        reward = LOST * (deaths + too_early) + PICKED_UP * picks_up + WON * won
        return Outcome(reward, ~survives | too_early | won, won)


def moved(places: Array, steps: Array) -> Array:
    """Positions [..., 2] int64 after steps [..., 2] from places [..., 2], row and column in half cells.

    A step out of the grid has no effect.
    """
    return np.clip(places + steps, 0, LAST_PLACE)
