"""MiniRTS with a planner: commands for agents, information for the planner, and undoing of rounds.

`sight` is the planner's information: `fair`, what the team sees or remembers; `full`, all enemies and resources, also
in the fog; `types`, like `fair`, but with the types that the enemy's script trains instead of recently seen enemies.
The executor never sees through the fog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts import kernels
from rl_envs.minirts.batch import LEARNED_KEYS
from rl_envs.minirts.factored import C_ATTACK, C_GATHER, C_IDLE
from rl_envs.minirts.game import GAME_NAMES
from rl_envs.minirts.symbols import ARMY, NUM_CELLS, NUM_TYPES, PEASANT
from rl_envs.minirts.text import team_view
from tune_experiments.play.captions import Line, with_lines
from tune_experiments.red.commanded_rts import NARRATED, CommandedRts
from tune_experiments.sama.minirts.config import Sight
from tune_experiments.sama.minirts.scene import describe_scene

_CLOCK = ("key", "episode", "step")


@dataclass(frozen=True)
class GameSnapshot:
    """Snapshot of one game."""

    record: np.void
    learned: Array
    others: Arrays
    clock: tuple[int, ...]


class PlannedRts(CommandedRts):
    """B games whose agents get a planner's commands.

    Args:
        num_worlds: B.
        first_world: Number of the first world in the run.
        sight: The planner's information: `fair`, `full` or `types`.
        is_read: Whether a network needs observations; a step without them costs less.
        game: Further arguments of `CommandedRts`.

    Attributes:
        seen: The game's own observations now, name -> [B, N, ...].
        headlines: Line of text above the image of each game.
    """

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, sight: Sight = "fair", is_read: bool = False, **game: Any
    ) -> None:
        if sight not in get_args(Sight):
            raise ValueError(f"sight must be one of {', '.join(get_args(Sight))}, got {sight!r}")
        self.sight, self._is_read = sight, is_read
        self.seen: Arrays = {}
        self.headlines = [""] * num_worlds
        super().__init__(num_worlds, first_world, **{"commander": NARRATED} | game)
        if not is_read:
            self.observation_spec = {}

    def states(self, worlds: Sequence[int]) -> list[str]:
        """Text of each of these worlds, as the planner sees it."""
        rows = np.asarray(worlds, int)
        seen = self._seen_by_planner(rows)
        found = []
        for place, world in enumerate(rows):
            view = team_view(seen, place)
            if self.sight == "types":
                view["enemy_average"] = np.zeros(NUM_TYPES)
                view["enemy_average"][self.enemies_trained(int(world))] = 1
            found.append(describe_scene(view, int(self.state["episode_length"][world])))
        return found

    def snapshot_game(self, world: int) -> GameSnapshot:
        """Snapshot of one game."""
        games = self.games
        others = {
            name: value[world].copy() for name, value in games.items() if name not in (*GAME_NAMES, *LEARNED_KEYS)
        }
        clock = tuple(int(getattr(self.chance, name)[world]) for name in _CLOCK)
        return GameSnapshot(games.records[world].copy(), games.learned[world].copy(), others, clock)

    def restore_game(self, world: int, snapshot: GameSnapshot) -> None:
        """Restore one game; the others continue. `observe` shows it afterwards."""
        games = self.games
        games.records[world] = snapshot.record
        games.learned[world] = 0
        if len(snapshot.learned) == games.learned.shape[1]:
            games.learned[world] = snapshot.learned
        else:  # the tables have grown meanwhile
            kernels.copy_learned(snapshot.learned, games.learned[world])
        for name, value in snapshot.others.items():
            games[name][world] = value
        for name, moment in zip(_CLOCK, snapshot.clock, strict=True):
            getattr(self.chance, name)[world] = moment

    def render(self, index: int = 0) -> Array:
        """The game from above, with the headline above it, [H, W, 3] uint8."""
        return with_lines(super().render(index), [Line(self.headlines[index])])

    def _checked(self, actions: Any) -> Any:
        """Unchecked: a script's 351 factors are valid, and checking them takes as long as the game."""
        return super()._checked(actions) if self._is_read else actions

    def _observe(self, rows: Array) -> Arrays:
        seen = super(CommandedRts, self)._observe(rows)
        if len(rows) == self.num_worlds:
            self.seen = seen
        return self._as_read(seen, rows) if self._is_read else {}

    def _seen_by_planner(self, rows: Array) -> Arrays:
        if self.sight != "full":
            return {name: value[rows] for name, value in self.seen.items()}
        oracle = self.games["oracle"]
        before = oracle[rows, 0].copy()
        oracle[rows, 0] = True
        try:
            return super(CommandedRts, self)._observe(rows)
        finally:
            oracle[rows, 0] = before


def compute_features(seen: Arrays) -> dict[str, Any]:
    """Features of B games for the tests of sub-goals, from observations name -> [B, N, ...].

    Returns:
        `team` [B, 16] finished objects of the team by type, `own` [B, N, 16] of each agent, `idle`, `gathering` and
        `attacking` [B, N], `seen` and `money` [B].
    """
    kinds, commands, owned = seen["own_type"].astype(int), seen["command_type"], seen["owned"]
    peasants, fighters = owned & (kinds == PEASANT), owned & np.isin(kinds, ARMY)
    own = (owned[..., None] & (kinds[..., None] == np.arange(NUM_TYPES))).sum(2)
    return {
        "team": own.sum(1),
        "own": own,
        "idle": (peasants & (commands == C_IDLE)).sum(2),
        "gathering": (peasants & (commands == C_GATHER)).sum(2),
        "attacking": (fighters & (commands == C_ATTACK)).sum(2),
        "seen": np.rint(seen["count"][:, 0, :2].sum(1) * NUM_CELLS).astype(int),
        "money": seen["money"][:, 0].astype(int),
    }
