"""A match of scripted policies in a world that offers one, as a video: `render WORLD --policies NAME NAME`.

A world offers matches by a method `match_frames(policies, seed)` that yields frames. This file must not know any world.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rl_envs.registry import make
from tune_experiments.core.errors import UserError
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
