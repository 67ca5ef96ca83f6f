"""Movements of entities: the combinations that an episode can have, and the choice of one step.

MESSENGER, section 3, in the form of the authors' engine: a chaser moves in a random direction that brings it closer to
the avatar, a fleeing entity in a random direction that takes it away; neither considers the border of the grid. EnDi
(2023, appendix A.2) has the same three movements for two agents, but in its release all entities move at random.
"""

import itertools
from fractions import Fraction

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.messenger.symbols import CHASER, ENEMY, FLEEING, GOAL, IMMOVABLE, MESSAGE, STAY, STEPS, UNKNOWN

DRAWS = 264
"""Number of equally likely draws of a step; a multiple of all denominators that the choices need."""
WANDERING = Fraction(4, 11)
"""Probability that an entity with random moves leaves its cell: 1/11 for each direction."""
_MOBILE = (CHASER, FLEEING, IMMOVABLE)


class Walk:
    """Tables of the steps of all movements."""

    def __init__(self, pace: Fraction) -> None:
        """Compute the tables; `pace` is the probability that a chasing or fleeing entity moves in a step."""
        paces = {CHASER: pace, FLEEING: pace, IMMOVABLE: Fraction(0), UNKNOWN: WANDERING}
        # [4, 3, 3, DRAWS] int64, action by movement, by 1 + sign of the avatar's row minus the entity's, by the same of
        # the columns, and by draw
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
        """Choose the entities' actions, [B, E] int64.

        `movements` [B, E] uint8; `places` [B, E, 2] int64; `prey` [B, E, 2] or [B, 1, 2]: avatars to chase or flee.
        """
        signs = np.sign(prey - places)
        situation = movements * np.int64(9) + signs[..., 0] * 3 + signs[..., 1] + 4
        return self._flat[situation * DRAWS + (uniforms * DRAWS).astype(np.int64)]


def nearer_of_two(places: Array, avatars: Array, uniforms: Array) -> Array:
    """Position of the nearer of two avatars [B, 2, 2] to each entity [B, E, 2], [B, E, 2] int64.

    If they are equally far, it is a random one by `uniforms` [B, E].
    """
    apart = abs(places[:, :, None] - avatars[:, None])
    distance = apart[..., 0] + apart[..., 1]
    is_second = distance[..., 1] + uniforms < distance[..., 0] + 0.5
    return np.where(is_second[..., None], avatars[:, 1:], avatars[:, :1])


def _options(movement: int, signs: tuple[int, int]) -> list[int]:
    """Actions from which an entity chooses; at the avatar's own position these are all directions."""
    directions = range(STAY)
    if movement == UNKNOWN or signs == (0, 0):
        return list(directions)
    closer = [action for action in directions if np.dot(STEPS[action], signs) > 0]
    return closer if movement == CHASER else [action for action in directions if action not in closer]


def _spread(options: list[int], pace: Fraction) -> list[int]:
    """A list of `DRAWS` entries: these actions equally often, together with frequency `pace`, else stay."""
    moving = int(DRAWS * pace)
    return [options[number * len(options) // moving] for number in range(moving)] + [STAY] * (DRAWS - moving)


def single_variants(stage: int, split: str) -> Array:
    """All combinations of movements of enemy, message, goal and (stage 3) decoys, equally likely, [V, E] uint8.

    Stage 2: each movement once, in any order; in the test split any three, which are new dynamics. Stage 3: each once,
    and a decoy has another movement than the entity that it imitates and than the other decoy.
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
    """The combinations for two agents, [V, 5] uint8: enemy, two messages, two goals; equal roles move the same way."""
    if stage > 1 and wanders:
        return np.full((1, 5), UNKNOWN, np.uint8)
    return single_variants(min(stage, 2), split)[:, [ENEMY, MESSAGE, MESSAGE, GOAL, GOAL]]
