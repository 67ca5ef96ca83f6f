"""Named tasks as arguments of `salad-v0`: every salad on every map, such as `lettuce_tomato_b`, and `secret_order`."""

from typing import Any

from rl_envs.salad.kitchen import LAYOUTS
from rl_envs.salad.procedural import procedural_kitchen
from rl_envs.salad.symbols import RECIPES

_TUNING = 1_002
"""A generated kitchen with two boards and all foods, in which one cook can only serve; no corpus describes it."""

TASKS: dict[str, dict[str, Any]] = {
    f"{recipe.replace('-', '_')}_{layout.lower()}": {"layout": layout, "recipes": (recipe,)}
    for recipe in RECIPES
    for layout in LAYOUTS
} | {
    "secret_order": {
        "layout": "D",
        "recipes": ("tomato", "lettuce", "onion"),
        "order_known_by": "Alice",
        "max_episode_steps": 32,
    },
    "tuning_order": {
        "drawing": procedural_kitchen(_TUNING)["drawing"],
        "recipes": ("tomato", "lettuce", "onion"),
        "order_known_by": "Alice",
        "max_episode_steps": 40,
    },
}
"""`secret_order` needs communication: Bob makes one of three salads, and only Alice, who serves, knows which one. With
an immediate message the team needs 21 steps. A guess is right in one of three cases, and there is no time for a second
dish. `tuning_order` is the same on a generated map that is in no test and no corpus, for choosing settings."""
TESTED = ("tomato_a", "tomato_b", "secret_order")
"""Tasks of the tables: kitchens that are held out completely from a small language model's texts (`procedural`)."""
