"""Spectators of a playing team: images and notes of a step that a page shows beside the common parts."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from rl_envs.core.spec import Array, checked_picture


@dataclass(frozen=True)
class Note:
    """A note on a step; its text is shown as it is, also if a model wrote it."""

    title: str
    text: str


class Spectator(contextlib.AbstractContextManager["Spectator"]):
    """Observes the world after the team has chosen and before the step."""

    def __init__(self, loaded: Any) -> None:
        """Watch a `LoadedPolicy`, whose `last_output` belongs to the current step."""
        self.loaded = loaded

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No-op."""

    def picture(self, world: Any, index: int) -> Array | None:
        """Image of world `index`, [H, W, 3] uint8; NotImplementedError or None for a world that is not drawn."""
        picture: Array | None = world.picture(index)
        return picture

    def last_picture(self, world: Any, index: int) -> Array | None:
        """Image at the end of the episode, [H, W, 3] uint8 or None as of `picture`."""
        return self.picture(world, index)

    def picture_for(self, world: Any, index: int, agent: int) -> Array | None:
        """Image [H, W, 3] uint8 for the human player of one of the agents; by default it shows everything."""
        return self.last_picture(world, index)

    def notes(self, world: Any, index: int) -> tuple[Note, ...]:
        """Notes on the current step of world `index`."""
        return ()

    def last_notes(self, world: Any, index: int) -> tuple[Note, ...]:
        """Notes on the end of the episode."""
        return ()


def checked_drawing(draw: Callable[..., Array | None], *where: Any) -> Array | None:
    """Image [H, W, 3] uint8 that a spectator's drawing method draws, checked; None for a world that is not drawn.

    Raises ValueError for what is no image.
    """
    picture = draw(*where)
    return None if picture is None else checked_picture(picture)
