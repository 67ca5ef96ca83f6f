"""Where everybody stands when an episode begins (MESSENGER, section 3; EnDi, 2023, section 5.2; cells of the releases).

Entities stand on any permutation of given cells. Places count half cells, row and column from the top left: a cell's is
twice its number, and only MESSENGER's moving entities stand between cells. This file must not know who they are.
"""

from __future__ import annotations

import itertools

import numpy as np

from rl_envs.core.spec import Array

CENTRE = (5, 5)
SINGLE_CELLS = {
    1: ((3, 5), (5, 3), (5, 7), (7, 5)),
    2: ((2, 2), (2, 7), (7, 2), (7, 7)),
    3: ((1, 2), (1, 8), (4, 5), (6, 1), (6, 9), (9, 5)),
}
TEAM_CELLS = ((3, 5), (5, 3), (5, 7), (7, 4), (7, 6))


def starts(stage: int, num_agents: int) -> tuple[Array, Array]:
    """All starts, equally likely.

    In stage 1 of a single agent one of the four cells stays empty; in stages 2 and 3 the avatar has one of the cells.

    Returns:
        entities [P, E, 2] int64 and avatars [P, N, 2] int64, in half cells.
    """
    cells = TEAM_CELLS if num_agents > 1 else SINGLE_CELLS[stage]
    starts_in_centre = num_agents > 1 or stage == 1
    count = len(cells) - (num_agents == 1 and stage == 1)
    placed = 2 * np.array(list(itertools.permutations(cells, count)), np.int64)
    if not starts_in_centre:
        return placed[:, :-1], placed[:, -1:]
    return placed, np.broadcast_to(2 * np.array(CENTRE, np.int64), (len(placed), num_agents, 2))
