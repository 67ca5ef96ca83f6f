"""Snapshots of B worlds at the start of their rounds, so that one that failed is played again from there."""

from __future__ import annotations

from collections.abc import Sequence

from rl_envs import World
from rl_envs.core.spec import Arrays


class RoundSnapshots:
    """Snapshots of B worlds, each of the moment at which its round began: clock and chance, too."""

    def __init__(self, world: World) -> None:
        """All rounds begin now.

        Args:
            world: B worlds that have been reset.
        """
        self._world = world
        self.state: Arrays = world.snapshot()

    def take(self, worlds: Sequence[int]) -> None:
        """The rounds of these worlds begin now."""
        now = self._world.snapshot()
        for name, values in self.state.items():
            values[worlds] = now[name][worlds]

    def restore(self, worlds: Sequence[int]) -> None:
        """Restore these worlds to where their rounds began; the others go on."""
        if not worlds:
            return
        now = self._world.snapshot()
        for name, values in now.items():
            values[worlds] = self.state[name][worlds]
        self._world.restore(now)
