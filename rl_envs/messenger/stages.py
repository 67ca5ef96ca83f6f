"""Stages: rules, movements, roles of entities and initial positions, by stage and number of agents.

MESSENGER, section 3; EnDi (2023, section 5.2); cells of the initial positions as in the releases. Positions count half
cells, row and column from the top left, so a cell is an even number; only MESSENGER's moving entities stand between
cells.
"""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.messenger.movements import Walk, single_variants, team_variants
from rl_envs.messenger.single_rules import SingleRules
from rl_envs.messenger.symbols import IMMOVABLE, ROLES, UNKNOWN
from rl_envs.messenger.team_rules import TeamRules

CENTRE = (5, 5)
SINGLE_CELLS = {
    1: ((3, 5), (5, 3), (5, 7), (7, 5)),
    2: ((2, 2), (2, 7), (7, 2), (7, 7)),
    3: ((1, 2), (1, 8), (4, 5), (6, 1), (6, 9), (9, 5)),
}
TEAM_CELLS = ((3, 5), (5, 3), (5, 7), (7, 4), (7, 6))
SINGLE_ENTITIES, TEAM_ENTITIES = ((0, 1, 2), (0, 1, 2), (0, 1, 2, 1, 2)), (0, 1, 1, 2, 2)
"""Role of each entity: the index of its symbol in a game."""
SINGLE_PACE, TEAM_PACE = Fraction(1), Fraction(1, 2)
"""A chasing or fleeing entity moves half a cell in every step, or a whole cell in every second step."""


@dataclass(frozen=True)
class Stage:
    """One stage for one or two agents."""

    rules: SingleRules | TeamRules  # rules of a step
    walk: Walk  # choice of the entities' moves
    movements: Array  # [V, E] uint8, equally likely combinations of movements
    entity_starts: Array  # [P, E, 2] int64, initial positions of entities in half cells
    avatar_starts: Array  # [P, N, 2] int64, the avatars' initial positions that belong to them
    role_of: Array  # [E] int64, role of each entity; a decoy has the role that it imitates
    first_decoy: int  # number of the first decoy; E if there is none
    usual_movement: int  # movement of entities for which a state gives none
    begins_with_message: bool  # whether an episode may begin with the message
    one_touch_ends: bool = False  # whether any touch of a single agent ends the episode
    goal_kills: bool = True  # whether an agent that touches a goal without the message loses


def get_stage(number: int, num_agents: int, split: str, released: frozenset[str]) -> Stage:
    """The stage with this number, 1 to 3, for 1 or 2 agents, with these behaviours of the two-agent release."""
    entity_starts, avatar_starts = starts(number, num_agents)
    is_team, wanders = num_agents > 1, "random_walk" in released
    role_of = TEAM_ENTITIES if is_team else SINGLE_ENTITIES[number - 1]
    return Stage(
        rules=TeamRules(number, released) if is_team else SingleRules(number),
        walk=Walk(TEAM_PACE if is_team else SINGLE_PACE),
        movements=team_variants(number, split, wanders) if is_team else single_variants(number, split),
        entity_starts=entity_starts,
        avatar_starts=avatar_starts,
        role_of=np.array(role_of),
        first_decoy=len(TEAM_ENTITIES if is_team else ROLES),
        usual_movement=UNKNOWN if wanders else IMMOVABLE,
        begins_with_message=number == 1 or (is_team and number == 2) or "message_at_start" in released,
        one_touch_ends=number == 1 and not is_team,
        goal_kills=released.isdisjoint({"any_object_pays", "only_pairs_count"}),
    )


def starts(stage: int, num_agents: int) -> tuple[Array, Array]:
    """All equally likely initial positions, entities [P, E, 2] and avatars [P, N, 2] int64 in half cells.

    Entities are on any permutation of the stage's cells. In stage 1 of a single agent one of the four cells stays
    empty; in stages 2 and 3 the avatar has one of them.
    """
    cells = TEAM_CELLS if num_agents > 1 else SINGLE_CELLS[stage]
    starts_in_centre = num_agents > 1 or stage == 1
    count = len(cells) - (num_agents == 1 and stage == 1)
    positions = 2 * np.array(list(itertools.permutations(cells, count)), np.int64)
    if not starts_in_centre:
        return positions[:, :-1], positions[:, -1:]
    return positions, np.broadcast_to(2 * np.array(CENTRE, np.int64), (len(positions), num_agents, 2))
