"""A match of two scripts as frames that a person can follow, some ticks apart."""

from __future__ import annotations

from collections.abc import Iterator

from rl_envs.core.spec import Array
from rl_envs.minirts.batch import Player
from rl_envs.minirts.render import draw
from rl_envs.minirts.tick import RUNNING
from rl_envs.minirts.world import MiniRts


def match_frames(first: str, second: str, seed: int, every_ticks: int) -> Iterator[Array]:
    """Play the first game of a seed and draw it every so many ticks, and at its end.

    Args:
        first: name of the script of side 0.
        second: name of the script of side 1.
        seed: as of `World.reset`; the game is the one that a world with these scripts plays.
        every_ticks: ticks from one frame to the next.

    Yields:
        [H, W, 3] uint8.

    Raises:
        ValueError: no script has this name, or less than a tick between frames.
    """
    if every_ticks < 1:
        raise ValueError(f"every_ticks must be at least 1, got {every_ticks}")
    world = MiniRts(1, own_script=first, opponents=second)
    world.reset(seed)
    game, player = world.games.records[0], Player(1)
    names = first, second
    yield draw(game, names)
    while game["result"] == RUNNING:
        player.tick(world.games, 0, player.no_tables, player.no_continues)
        if game["tick"] % every_ticks == 0 or game["result"] != RUNNING:
            yield draw(game, names)
