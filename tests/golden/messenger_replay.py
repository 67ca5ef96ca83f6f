"""Replay of MESSENGER recordings.

Recordings hold the released rules, count places as (x, y) in their own units, and tell where entities were after each
step; our world takes the actions that bring them there.
"""

import numpy as np

from rl_envs.messenger.symbols import ENEMY, GOAL, MESSAGE, STAY, STEPS
from rl_envs.messenger.team_rules import RELEASED
from rl_envs.messenger.world import Messenger
from tests.golden.side_by_side import SideBySide

GAME_COLUMNS = {3: (0, 1, 2), 5: (0, 1, 2, 1, 2)}
TEAM_COLUMNS = (0, 1, 1, 2, 2)
KILLED = {ENEMY: 1, 3: 2, 4: 4}
"""Events by killer: the enemy and the decoys of message and goal."""
TOO_EARLY, PICKED_UP, REMOVED, DELIVERED = 8, 16, 32, 64
ACTION_OF = {step: action for action, step in enumerate(STEPS)}


class Replay(SideBySide):
    idle = STAY

    def __init__(self, path):
        super().__init__(path)
        self.stage = int(path.stem[-1])
        self.is_team = self.data["action"].ndim == 2
        self.scale = 2 // int(self.data["units_per_cell"])
        self.world = Messenger(
            len(self.first),
            stage=self.stage,
            num_agents=1 + self.is_team,
            released=list(RELEASED) if self.is_team else (),
            max_episode_steps=int(self.data["limit"]) + 1,
        )
        columns = TEAM_COLUMNS if self.is_team else GAME_COLUMNS[self.data["ep_npc0"].shape[1]]
        start = {
            "entity_places": self.places(self.data["ep_npc0"]),
            "avatar_places": self.of_agents(self.places(self.data["ep_avatar0"])),
            "entity_symbols": self.data["ep_game"][:, columns],
            "has_message": self.of_agents(self.data["ep_with_message0"]),
            "manual": np.zeros((len(self.first), self.world.observation_spec["manual"].shape[0])),
        }
        if not self.is_team:
            start["entity_movements"] = self.data["ep_types"]
        self.obs = self.world.restore(start)

    def places(self, recorded):
        """(row, column) in half cells."""
        return recorded.astype(int)[..., ::-1] * self.scale

    def of_agents(self, values):
        """With an axis of agents, which recordings of a single agent lack."""
        return values if self.is_team else values[:, None]

    def recorded(self, name, index):
        values = self.data[name][index]
        return self.places(values) if name in ("npc_after", "avatar_after") else values

    def chance(self, rows, index):
        moves = self.moves(self.world.state["entity_places"], rows, index)
        return {"entity_moves": moves} if self.world.recorded_draws else {}

    def moves(self, before, rows, index):
        """[B, E] actions that bring the entities to where they were."""
        moves = np.full(before.shape[:2], STAY)
        unit = 2 if self.is_team else 1
        apart = (self.recorded("npc_after", index) - before[rows]) // unit
        moves[rows] = [[ACTION_OF[tuple(step)] for step in steps] for steps in apart.tolist()]
        return moves


def events(before, after):
    """What happened to the sprites, from the states before and after a step, in the recordings' bits.

    Of several killers the recordings name the first; the reward counts them all.
    """
    apart = abs(after["entity_places"] - after["avatar_places"])
    touch = (apart < 2).all(2) & before["entity_here"]
    killers = [touch[:, entity] * bit for entity, bit in KILLED.items() if entity < touch.shape[1]]
    bits = np.select([bit > 0 for bit in killers], killers)
    died = ~after["avatar_alive"][:, 0]
    bits += (died & (bits == 0)) * TOO_EARLY
    bits += (after["has_message"] & ~before["has_message"])[:, 0] * PICKED_UP
    gone = before["entity_here"] & ~after["entity_here"]
    return bits + gone[:, MESSAGE] * REMOVED + gone[:, GOAL] * DELIVERED


def touched(state):
    """[K, N], bit j for whoever is in the cell of entity j."""
    same_cell = (state["avatar_places"][:, :, None] == state["entity_places"][:, None]).all(-1)
    return (same_cell << np.arange(same_cell.shape[2])).sum(2)
