"""Tasks by name: arguments of `salad-v0`. Every salad on every map, such as `lettuce_tomato_b`, and `secret_order`."""

from __future__ import annotations

from typing import Any

from rl_envs.salad.kitchen import LAYOUTS
from rl_envs.salad.symbols import RECIPES

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
}
"""`secret_order` is the one that takes words: Bob makes one of three salads, and only Alice, who serves, knows which.
Told at once they need 21 steps; who has to guess is right once in three times and has no time for a second dish."""
READ = ("tomato_a", "tomato_b", "lettuce_tomato_a", "lettuce_tomato_b", "secret_order")
"""What is played for a small language model to read: the four of the papers' language agents, and that one."""
