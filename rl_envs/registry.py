"""The worlds by id. A new world adds one line to `WORLDS`.

An id reads `name-vN`; N rises with every change that a trained agent would notice.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from rl_envs.core.world import World

WORLDS = {
    "furnmove-v0": "rl_envs.furnmove.world:FurnMove",
    "matrix_game-v0": "rl_envs.matrix_game.world:MatrixGame",
    "messenger-v0": "rl_envs.messenger.world:Messenger",
    "overcooked-v0": "rl_envs.overcooked.world:Overcooked",
    "rock_paper_scissors-v0": "rl_envs.rock_paper_scissors.world:RockPaperScissors",
    "rtfm-v0": "rl_envs.rtfm.world:Rtfm",
    "salad-v0": "rl_envs.salad.world:Salad",
    "two_step_game-v0": "rl_envs.two_step_game.world:TwoStepGame",
}


def register(world_id: str, entry_point: str) -> None:
    """Add a world of your own; `entry_point` has the form `package.module:Class`."""
    WORLDS[world_id] = entry_point


def make(world_id: str, num_worlds: int = 1, **arguments: Any) -> World:
    """Build a batch of `num_worlds` worlds; `arguments` are the keyword arguments of the world's class.

    Raises:
        ValueError: the id is unknown; the message names the nearest known id.
    """
    if world_id not in WORLDS:
        near = difflib.get_close_matches(world_id, WORLDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known ids: {', '.join(sorted(WORLDS))}"
        raise ValueError(f"no world is called {world_id!r}; {hint}")
    module, name = WORLDS[world_id].split(":")
    return getattr(importlib.import_module(module), name)(num_worlds=num_worlds, **arguments)
