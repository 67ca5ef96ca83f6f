"""Named tasks as arguments of `salad-v0`: every salad on every map, such as `lettuce_tomato_b`, and `secret_order`."""

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
"""`secret_order` needs communication: Bob makes one of three salads, and only Alice, who serves, knows which one. With
an immediate message the team needs 21 steps. A guess is right in one of three cases, and there is no time for a second
dish."""
READ = ("tomato_a", "tomato_b", "lettuce_tomato_a", "lettuce_tomato_b", "secret_order")
"""Tasks whose play is the supervised data of a small language model: the four of the papers' agents, and that one."""
