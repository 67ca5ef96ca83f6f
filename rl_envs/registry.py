"""Worlds by id, or by `package.module:Class` from anywhere. A new world of this package adds one line to `WORLDS`.

An id reads `name-vN`; N rises with every change that a trained agent would notice.
"""

import importlib
import inspect
import re
from collections.abc import Iterable
from typing import Any

from rl_envs.core.arguments import whole
from rl_envs.core.errors import did_you_mean
from rl_envs.core.world import World

WORLDS = {
    "frozen_lake_spread-v0": "rl_envs.frozen_lake_spread.world:FrozenLakeSpread",
    "furnlift-v0": "rl_envs.furnlift.world:FurnLift",
    "furnmove-v0": "rl_envs.furnmove.world:FurnMove",
    "matrix_game-v0": "rl_envs.matrix_game.world:MatrixGame",
    "messenger-v0": "rl_envs.messenger.world:Messenger",
    "minirts-v0": "rl_envs.minirts.world:MiniRts",
    "overcooked-v0": "rl_envs.overcooked.world:Overcooked",
    "rock_paper_scissors-v0": "rl_envs.rock_paper_scissors.world:RockPaperScissors",
    "rtfm-v0": "rl_envs.rtfm.world:Rtfm",
    "salad-v0": "rl_envs.salad.world:Salad",
    "two_step_game-v0": "rl_envs.two_step_game.world:TwoStepGame",
}
_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
ENTRY_POINT = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")
"""`package.module:NAME`, an object in a module; groups: module, name."""
GYMNASIUM = "gymnasium:"
"""Prefix of ids of Gymnasium, `gymnasium:CartPole-v1` or `gymnasium:package.module:ID`."""


def register(world_id: str, entry_point: str) -> None:
    """Add an id for a world of your own: `entry_point` reads `package.module:Class`."""
    WORLDS[world_id] = entry_point


def find_entry_point(world_id: str) -> str | None:
    """`package.module:Class` of a registered id, in which `-` and `_` are equivalent; None if unknown."""
    known = {name.replace("-", "_"): entry_point for name, entry_point in WORLDS.items()}
    return known.get(world_id.replace("-", "_"))


def make(world_id: str, num_worlds: int = 1, **arguments: Any) -> World:
    """Build `num_worlds` worlds of a kind.

    Args:
        world_id: a registered id, in which `-` and `_` are equivalent; or
            `package.module:Class` of a world from anywhere, whose module is imported.
        num_worlds: B.
        arguments: arguments of the world.

    Raises:
        ValueError: an unknown id (the sentence names the nearest known one), an entry point that is no world, a
            number of worlds that is no positive whole number, an unknown argument, or an array library that the world
            does not offer.
    """
    if not isinstance(world_id, str):
        raise ValueError(f"world_id must be a string such as 'rtfm-v0', not {world_id!r}")
    entry_point = find_entry_point(world_id) or world_id
    if ":" not in entry_point:
        hint = did_you_mean(world_id, WORLDS, f"name one of {', '.join(sorted(WORLDS))}")
        raise ValueError(f"no environment is called {world_id!r}; {hint}")
    kind = world_class(entry_point)
    if "arrays" in arguments and kind.array_libraries == World.array_libraries:
        raise ValueError(f"arrays is no argument of {world_id}, which computes in NumPy: leave it out")
    if unknown := unknown_argument(kind, arguments):
        name, hint = unknown
        raise ValueError(f"{name} is no argument of {world_id}: {hint}")
    return kind(num_worlds=whole("num_worlds", num_worlds, 1), **arguments)


def unknown_argument(kind: type[World], arguments: Iterable[str]) -> tuple[str, str] | None:
    """First argument that the constructor of a world does not take, and a hint; None if it takes all of them."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    known = [parameter.name for parameter in parameters]
    for name in arguments:
        if name not in known:
            return name, did_you_mean(name, known, f"it has {', '.join(known[3:]) or 'none'}")
    return None


def world_class(entry_point: str) -> type[World]:
    """Class of an entry point `package.module:Class`, whose module is imported.

    Raises ValueError where there is none, or it is not a world's.
    """
    named = ENTRY_POINT.fullmatch(entry_point)
    if named is None:
        raise ValueError(f"{entry_point!r} names no class; write package.module:Class of an installed package")
    try:
        found = getattr(importlib.import_module(named[1]), named[2], None)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{entry_point!r} cannot be imported ({error}); write package.module:Class of an installed package"
        ) from error
    if not (isinstance(found, type) and issubclass(found, World)):
        raise ValueError(f"{entry_point!r} is not a subclass of rl_envs.World: correct module or class")
    return found
