"""The command `play --human`: a game in the browser until Control-C."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from tune_experiments.core.errors import UserError
from tune_experiments.play.game.human_game import HumanGame
from tune_experiments.play.loading import LoadedPolicy


def play_in_browser(
    loaded: LoadedPolicy, agent: str, seed: int, folder: Path, port: int, say: Callable[[str], None]
) -> None:
    """Serve a game with a person and keep its episodes.

    Args:
        loaded: the team.
        agent: name of the person's agent.
        seed: of the world.
        folder: for the episodes.
        port: on this machine; 0 for any free one.
        say: tells the person the address, and at the end what was written.

    Raises:
        UserError: no such agent or port, or aiohttp is not installed.
    """
    try:
        from tune_experiments.play.game.server import serve
    except ModuleNotFoundError as error:
        raise UserError(f"a game in the browser needs {error.name}: pip install 'concord-marl[play]'") from error
    if not 0 <= port < 2**16:
        raise UserError(f"--port must be 0 to 65535, not {port}")
    game = HumanGame(loaded, agent, seed, folder)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(game, port, say))
