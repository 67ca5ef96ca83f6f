"""The second process of `determinism.check_other_process`: play the game of the command line and print its digest."""

import importlib
import json
import sys

from rl_envs.testing.determinism import whole_game
from rl_envs.testing.recorder import digest


def main(request: str) -> None:
    """Play the game of `request` (JSON: callable, arguments, B, seed, env steps) and print the digest of its record."""
    recipe, arguments, num_worlds, seed, env_steps = json.loads(request)
    module, name = recipe.split(":")
    factory = getattr(importlib.import_module(module), name)
    world = factory(num_worlds=num_worlds, **arguments)
    print(digest(world, whole_game(world, seed, env_steps)))


if __name__ == "__main__":
    main(sys.argv[1])
