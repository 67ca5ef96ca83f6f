"""The other process of the comparison: plays a game described on its command line and prints the record's digest.

Started by `sameness.check_other_process`; of no other use.
"""

from __future__ import annotations

import importlib
import json
import sys

from rl_envs.testing.determinism import whole_game
from rl_envs.testing.recorder import digest


def main(request: str) -> None:
    """Play what `request` (JSON: recipe, arguments, B, seed, env steps) asks for and print the digest."""
    recipe, arguments, num_worlds, seed, env_steps = json.loads(request)
    module, name = recipe.split(":")
    factory = getattr(importlib.import_module(module), name)
    world = factory(num_worlds=num_worlds, **arguments)
    print(digest(world, whole_game(world, seed, env_steps)))


if __name__ == "__main__":
    main(sys.argv[1])
