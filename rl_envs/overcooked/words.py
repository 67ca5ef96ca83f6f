"""Names and numbers of everything in a kitchen: actions, things, contents of cells, and deeds.

A cell is one number, its contents: a counter with the thing on it, floor, a store, the hatch, or a pot in one of its 24
states. So an interaction is one look-up.
"""

ACTIONS = ("north", "south", "east", "west", "stay", "interact")
NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(len(ACTIONS))
HEADINGS = ACTIONS[:STAY]
"""A chef faces in the direction of one of the first four actions."""
STEPS = ((-1, 0), (1, 0), (0, 1), (0, -1), (0, 0), (0, 0))
"""Change of (row, column) by each action."""

THINGS = ("nothing", "onion", "dish", "soup")
NOTHING, ONION, DISH, SOUP = range(len(THINGS))
"""Things in hands and on counters: the first four contents of a cell."""

FLOOR, ONION_STORE, DISH_STORE, HATCH, POT = range(len(THINGS), len(THINGS) + 5)
"""Other contents. `POT + n` is a pot with n onions, `POT + 3 + t` a full pot that has cooked for t steps."""
POT_ONIONS, COOK_STEPS = 3, 20
FULL = POT + POT_ONIONS
READY = FULL + COOK_STEPS
NUM_CONTENTS = READY + 1

DEEDS = ("nothing", "onion into a pot", "dish from the store", "soup from a pot", "soup served")
NO_DEED, POTTED, TOOK_DISH, TOOK_SOUP, SERVED = range(len(DEEDS))
"""Kinds of interactions that rewards distinguish."""

CHEF_COLOURS = ((37, 99, 214), (126, 58, 172))
"""Colours of the chefs in images."""
LEGEND = {
    "onion": (226, 172, 60),
    "dish": (255, 255, 255),
    "soup": (196, 122, 44),
    "pot (round), store (square)": (84, 90, 103),
    "hatch for soups": (134, 186, 118),
}
