"""Names and numbers of the kitchen: things, kinds of cells, moves, recipes and rewards.

The number of a cell is row * 7 + column.
"""

import numpy as np

SIDE = 7
CELLS = SIDE * SIDE
AGENT_NAMES = ("Alice", "Bob")
"""Names of the two agents in sentences, in their order."""
AGENT_COLOURS = ((37, 99, 214), (226, 132, 36))
"""Colours of the agents in images."""

FOODS = ("tomato", "lettuce", "onion")
LEGEND = {
    "tomato": (217, 66, 53),
    "lettuce": (104, 174, 78),
    "onion": (171, 104, 170),
    "cutting board": (236, 211, 168),
    "window for orders": (104, 150, 172),
}
"""Colours in images."""
NUM_FOODS, NUM_PLATES, NUM_BOARDS = 3, 2, 2
NUM_THINGS = NUM_FOODS + NUM_PLATES
"""Things are numbered foods first, then plates."""
NOTHING = -1
"""Number for no thing and no plate, and cell of a thing that the kitchen lacks."""
CHOPS = 3
"""Chops that a food needs."""

COUNTER, BOARD, DELIVERY = 1, 6, 7
"""Kinds of cells, numbered as in recordings; floor is 0."""

MOVES = ("right", "down", "left", "up", "stay")
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)])
"""Change of row and column by each move."""
STAY = MOVES.index("stay")

RECIPES = tuple(
    "-".join(sorted(food for place, food in enumerate(FOODS) if number >> place & 1))
    for number in range(1, 2**NUM_FOODS)
)
"""Names of the seven salads; number r needs the foods whose bits are set in r + 1."""

STEP_REWARD, CHOP_REWARD, DISH_REWARD, WRONG_REWARD, COLLISION_REWARD = -0.001, 0.2, 1.0, -0.1, -0.01
