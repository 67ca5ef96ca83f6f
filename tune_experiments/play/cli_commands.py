"""What two commands of `python -m tune_experiments` do: matches of scripted policies, and games with a person.

`render WORLD --policies NAME NAME` writes a match as a video. A world offers matches by a method
`match_frames(policies, seed)` that yields frames. `play --human` serves a game in the browser until Control-C. This
file must not know any world.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from rl_envs.registry import make
from tune_experiments.core.errors import UserError
from tune_experiments.play.game.human_game import HumanGame
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.video import write_gif

FRAME_SECONDS = 0.1


def match_file(world_id: str, policies: Sequence[str], seed: int) -> Path:
    """Name of a match's video, in the present folder."""
    return Path(f"{world_id.replace(':', '.')}_{'_'.join(policies)}_{seed}.gif")


def write_match(world_id: str, policies: Sequence[str], seed: int, out: Path) -> Path:
    """Play a match and write it as a GIF.

    Raises:
        UserError: no such world, one without matches, or policies that it does not know.
        OSError: the file cannot be written.
    """
    try:
        frames = getattr(make(world_id), "match_frames", None)
        if frames is None:
            raise UserError(f"{world_id} offers no matches of scripted policies: name another world with --policies")
        return write_gif(list(frames(policies, seed)), out, FRAME_SECONDS)
    except ValueError as error:
        raise UserError(str(error)) from error


def refuse_together(human: str, decentralised: bool, of_game: Sequence[str]) -> None:
    """Refuse flags of `play` of which one would do nothing.

    Args:
        human: the person's agent, or "".
        decentralised: whether each agent runs in a process of its own.
        of_game: flags of a game with a person that were given.

    Raises:
        UserError: there are such flags.
    """
    if human and decentralised:
        raise UserError("--decentralised plays without a person: leave it or --human out")
    if of_game and not human:
        raise UserError(f"--{of_game[0]} is of a game with a person: add --human AGENT, or leave it out")


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
