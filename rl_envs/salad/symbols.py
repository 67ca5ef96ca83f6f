"""Names and numbers of the kitchen: things, what a cell is, moves, subtasks, recipes and rewards.

Numbers of cells are row * 7 + column. This file must not know about rules.
"""

from __future__ import annotations

import numpy as np

SIDE = 7
CELLS = SIDE * SIDE
AGENT_NAMES = ("Alice", "Bob")
"""What the two agents are called in sentences, in their order."""

FOODS = ("tomato", "lettuce", "onion")
NUM_FOODS, NUM_PLATES, NUM_BOARDS = 3, 2, 2
NUM_THINGS = NUM_FOODS + NUM_PLATES
"""Things are numbered foods first, then plates."""
NOTHING = -1
"""Number of no thing, of no plate, and cell of what the kitchen lacks."""
CHOPS = 3
"""Chops that a food needs."""

COUNTER, BOARD, DELIVERY = 1, 6, 7
"""What a cell is, as recordings number it; floor is 0."""

MOVES = ("right", "down", "left", "up", "stay")
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)])
"""Row and column of each move."""
STAY = MOVES.index("stay")

RECIPES = tuple(
    "-".join(sorted(food for place, food in enumerate(FOODS) if number >> place & 1))
    for number in range(1, 2**NUM_FOODS)
)
"""The seven salads by name; number r of this list wants the foods whose bits are set in r + 1."""

STEP_REWARD, CHOP_REWARD, DISH_REWARD, WRONG_REWARD, COLLISION_REWARD = -0.001, 0.2, 1.0, -0.1, -0.01
