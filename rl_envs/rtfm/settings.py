"""Settings of a room and of its rules, checked when they are made. RTFM and its reading task share them."""

from dataclasses import dataclass

from rl_envs.core.arguments import finite, one_of, steps, whole
from rl_envs.rtfm.grid import MAX_SIZE, MIN_SIZE

DROPS = ("destroy", "floor")


@dataclass(frozen=True)
class RoomSettings:
    """Size of a room, and numbers of its agents, monsters and items.

    Raises ValueError where the size, which counts the walls, is no whole number from 5 to 15.
    """

    size: int  # side of the room in cells, walls included
    num_agents: int  # N
    num_targets: int  # monsters that the team must kill; they come before the other monsters
    num_monsters: int  # M, targets and distractor
    num_items: int  # I

    def __post_init__(self) -> None:
        whole("size", self.size, MIN_SIZE, MAX_SIZE)

    @property
    def num_entities(self) -> int:
        """Agents, monsters and items together."""
        return self.num_agents + self.num_monsters + self.num_items


@dataclass(frozen=True)
class StepRules:
    """Rules of an env step.

    Raises ValueError for a value out of range.
    """

    do_monsters_move: bool  # whether monsters move at all
    do_monsters_move_first: bool  # whether they move before the agents
    max_episode_steps: int  # joint steps until the game is lost
    # fate of an item when its agent picks up another: `destroy`, or `floor`, it stays in the cell
    drop: str = "destroy"
    team_loss: float | None = None  # reward of the agents that did not cause a loss; None for the step's reward
    do_rewrite_texts: bool = False  # whether document and goal are rewritten at every step

    def __post_init__(self) -> None:
        one_of(DROPS, drop=self.drop)
        steps(self.max_episode_steps)
        if self.team_loss is not None:
            finite(team_loss=self.team_loss)
