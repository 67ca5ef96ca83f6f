"""What MESSENGER's worlds are made of, by number: entities, roles, movements (Hanjie et al., 2021, section 3).

Numbers are those of the authors' observations, so that recordings and weights mean the same here. This file must not
know any rule.
"""

from __future__ import annotations

ENTITIES = (
    "airplane",
    "mage",
    "dog",
    "bird",
    "fish",
    "scientist",
    "thief",
    "ship",
    "ball",
    "robot",
    "queen",
    "sword",
)
"""An entity's number is its place here, its symbol that number + `FIRST_ENTITY`."""
FIRST_ENTITY = 2
LAST_ENTITY = FIRST_ENTITY + len(ENTITIES) - 1
NOTHING = 0
AVATARS = WITHOUT_MESSAGE, WITH_MESSAGE = 15, 16
"""Symbols of an avatar, the last ones."""
SYMBOLS = ("nothing", "reserved", *ENTITIES, "wall", "avatar", "avatar with message")
"""Name of every symbol. `reserved` and `wall` exist in the authors' table but in no observation."""

ROLES = ("enemy", "message", "goal")
ENEMY, MESSAGE, GOAL = range(3)

CHASER, FLEEING, IMMOVABLE, UNKNOWN = range(4)
MOVEMENTS = ("chaser", "fleeing", "immovable", "unknown")
"""Movements as texts tell them. An entity of unknown movement wanders; only the two-agent release has such."""

ACTIONS = ("up", "down", "left", "right", "stay")
STAY = 4
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
"""Row and column by which an action moves."""
SIDE = 10
"""Cells along a side of the grid; there are no walls."""
