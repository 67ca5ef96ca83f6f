"""How entities move: the drawn combinations of movements, and the choice of one step.

MESSENGER, section 3, in the form of the authors' engine: a chaser takes any axis direction that brings it closer to the
avatar, a fleeing entity any that takes it away, uniformly, and neither knows where the grid ends. EnDi (2023, appendix
A.2) has the same three movements for two agents, while its release lets everything wander instead. This file must not
know where anybody starts or what happens when they touch.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.messenger.symbols import CHASER, ENEMY, FLEEING, GOAL, IMMOVABLE, MESSAGE, STAY, STEPS, UNKNOWN

DRAWS = 264
"""A step is one of so many equally likely numbers, a multiple of everything that the choices divide by."""
WANDERING = Fraction(4, 11)
"""Chance that a wandering entity tries to leave its cell: 1/11 for each direction."""
_MOBILE = (CHASER, FLEEING, IMMOVABLE)


class Walk:
    """The steps of all movements, tabulated.

    Attributes:
        table: [4, 3, 3, DRAWS] int64, action by movement, sign of the avatar's row minus the entity's, + 1, the same
            for columns, and draw.
    """

    def __init__(self, pace: Fraction) -> None:
        """Tabulate.

        Args:
            pace: chance that a chaser or fleeing entity moves at all in a step.
        """
        paces = {CHASER: pace, FLEEING: pace, IMMOVABLE: Fraction(0), UNKNOWN: WANDERING}
        self.table = np.array(
            [
                [
                    [_spread(_options(movement, (row, column)), paces[movement]) for column in (-1, 0, 1)]
                    for row in (-1, 0, 1)
                ]
                for movement in range(len(paces))
            ]
        )
        self._flat = self.table.reshape(-1)

    def choose(self, movements: Array, places: Array, prey: Array, uniforms: Array) -> Array:
        """Actions of entities.

        Args:
            movements: [B, E] uint8.
            places: [B, E, 2] int64, the entities.
            prey: [B, E, 2] or [B, 1, 2] int64, the avatars that they chase or flee.
            uniforms: [B, E].

        Returns:
            [B, E] int64.
        """
        signs = np.sign(prey - places)
        situation = movements * np.int64(9) + signs[..., 0] * 3 + signs[..., 1] + 4
        return self._flat[situation * DRAWS + (uniforms * DRAWS).astype(np.int64)]


def nearer_of_two(places: Array, avatars: Array, uniforms: Array) -> Array:
    """[B, E, 2] int64, place of the nearer of two avatars, either one if they are equally far.

    Args:
        places: [B, E, 2] int64, entities.
        avatars: [B, 2, 2] int64.
        uniforms: [B, E].
    """
    apart = abs(places[:, :, None] - avatars[:, None])
    distance = apart[..., 0] + apart[..., 1]
    is_second = distance[..., 1] + uniforms < distance[..., 0] + 0.5
    return np.where(is_second[..., None], avatars[:, 1:], avatars[:, :1])


def _options(movement: int, signs: tuple[int, int]) -> list[int]:
    """Actions among which an entity chooses; on the avatar's very place all directions serve."""
    directions = range(STAY)
    if movement == UNKNOWN or signs == (0, 0):
        return list(directions)
    closer = [action for action in directions if np.dot(STEPS[action], signs) > 0]
    return closer if movement == CHASER else [action for action in directions if action not in closer]


def _spread(options: list[int], pace: Fraction) -> list[int]:
    """These equally likely actions, together as likely as `pace`, as a list of `DRAWS` entries."""
    moving = int(DRAWS * pace)
    return [options[number * len(options) // moving] for number in range(moving)] + [STAY] * (DRAWS - moving)


def single_variants(stage: int, split: str) -> Array:
    """All combinations of movements, equally likely, of enemy, message, goal and (stage 3) decoys.

    Stage 2: each movement once, in any order; in the test split any three, which are new dynamics. Stage 3: each once,
    and a decoy moves neither as what it looks like nor as the other decoy.

    Args:
        stage: 1, 2 or 3.
        split: of the games.

    Returns:
        [V, E] uint8.
    """
    if stage == 1:
        return np.full((1, 3), IMMOVABLE, np.uint8)
    orders = list(itertools.permutations(_MOBILE))
    if stage == 2:
        return np.array(list(itertools.product(_MOBILE, repeat=3)) if split == "test" else orders, np.uint8)
    rows = [
        (*order, *decoys)
        for order in orders
        for decoys in itertools.permutations(_MOBILE, 2)
        if decoys[0] != order[MESSAGE] and decoys[1] != order[GOAL]
    ]
    return np.array(rows, np.uint8)


def team_variants(stage: int, split: str, wanders: bool) -> Array:
    """The same for two agents, [V, 5] uint8: enemy, two messages, two goals; equal roles move alike."""
    if stage > 1 and wanders:
        return np.full((1, 5), UNKNOWN, np.uint8)
    return single_variants(min(stage, 2), split)[:, [ENEMY, MESSAGE, MESSAGE, GOAL, GOAL]]
