"""Tasks by name: arguments of `salad-v0`. The first four are those of the papers' language agents."""

from __future__ import annotations

from typing import Any

TASKS: dict[str, dict[str, Any]] = {
    "tomato_a": {"layout": "A", "recipes": ("tomato",)},
    "tomato_b": {"layout": "B", "recipes": ("tomato",)},
    "lettuce_tomato_a": {"layout": "A", "recipes": ("lettuce-tomato",)},
    "lettuce_tomato_b": {"layout": "B", "recipes": ("lettuce-tomato",)},
    "secret_order": {
        "layout": "D",
        "recipes": ("tomato", "lettuce", "onion"),
        "order_known_by": "Alice",
        "max_episode_steps": 32,
    },
}
"""`secret_order` is the one that takes words: Bob makes one of three salads, and only Alice, who serves, knows which.
Told at once they need 21 steps; who has to guess is right once in three times and has no time for a second dish."""
