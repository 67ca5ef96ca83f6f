"""Numbers of MESSENGER's entities, roles, movements and actions (Hanjie et al., 2021, section 3).

Numbers are those of the authors' observations, so that recordings and weights mean the same here.
"""

ENTITIES = ("airplane", "mage", "dog", "bird", "fish", "scientist", "thief", "ship", "ball", "robot", "queen", "sword")
"""The number of an entity is its index here; its symbol is that number + `FIRST_ENTITY`."""
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
"""Movements as sentences describe them. `unknown` is a random walk, which only the two-agent release has."""

ACTIONS = ("up", "down", "left", "right", "stay")
STAY = 4
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
"""Change of row and column by each action."""
SIDE = 10
"""Side of the grid in cells; there are no walls."""
AGENT_COLOURS = ((37, 99, 214), (126, 58, 172))
"""Colours of the avatars in images."""
LEGEND = {"enemy or decoy": (226, 108, 88), "message": (244, 202, 92), "goal": (134, 186, 118)}
