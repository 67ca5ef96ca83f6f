"""A match of two scripts as frames that a person can follow, some ticks apart."""

from __future__ import annotations

from collections.abc import Iterator

from rl_envs.core.spec import Array
from rl_envs.minirts.batch import Games, Player
from rl_envs.minirts.render import draw
from rl_envs.minirts.tick import RUNNING


def frames_of(games: Games, names: tuple[str, str], every_ticks: int) -> Iterator[Array]:
    """Play the first game to its end and draw it at its start, every so many ticks, and at its end.

    Args:
        games: games of scripts, at a decision; they are played on.
        names: what the two sides are called.
        every_ticks: ticks from one frame to the next.

    Yields:
        [H, W, 3] uint8.
    """
    game, player = games.records[0], Player(1)
    yield draw(game, names)
    while game["result"] == RUNNING:
        player.tick(games, 0, player.no_tables, player.no_continues)
        if game["tick"] % every_ticks == 0 or game["result"] != RUNNING:
            yield draw(game, names)
