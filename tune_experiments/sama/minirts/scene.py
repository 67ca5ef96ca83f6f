"""A state of MiniRTS for the planner's rules: the environment's sentences, parsed and counted.

The state's text is that of `rl_envs/minirts/text.py`, with one more line: the number of the decision and the running
average of enemies seen.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_GATHER, C_IDLE, C_UNIT
from rl_envs.minirts.phrases import View
from rl_envs.minirts.symbols import ARMY, FACTORY, FIRST_BUILDING, NUM_CELLS, PEASANT, UNITS
from rl_envs.minirts.text import describe, read

NOBODY = "nobody"
_SHARE = re.compile(r"(\d+) % ([a-z]+)")
_MIN_SHARE = 1
NEAR = 9
"""Distance in cells at which an enemy fighter threatens a building."""


def describe_scene(view: View, decision: int) -> str:
    """A state as text: a view of the whole team (`text.team_view`) and the number of decisions before this one."""
    return f"{describe(view)}\n{last_line(decision, view['enemy_average'])}"


def last_line(decision: int, average: Array | Sequence[float]) -> str:
    """The additional line; averages [16] in hundredths of a unit, only of army types."""
    shares = {kind: round(100 * float(average[kind])) for kind in ARMY}
    seen = ", ".join(f"{share} % {UNITS[kind]}" for kind, share in shares.items() if share >= _MIN_SHARE)
    return f"Decision {decision}. Seen lately: {seen or NOBODY}."


@dataclass
class Hand:
    """Units and buildings that one agent commands: `own` and `idle_factories`, which train nothing now, by type.

    Numbers of peasants without a command, of those that do not build, of those that mine, and of fighters that attack.
    """

    own: Counter[int] = field(default_factory=Counter)
    idle_peasants: int = 0
    free_peasants: int = 0
    gathering: int = 0
    attacking: int = 0
    idle_factories: Counter[int] = field(default_factory=Counter)

    @property
    def fighters(self) -> int:
        """Units of the army."""
        return sum(self.own[kind] for kind in ARMY)


class Scene:
    """A state.

    Attributes:
        view: arrays of the environment's text.
        decision: decisions before this one.
        lately: army type -> hundredths of a unit, running average.
        hands: objects of each agent.
        coming: type -> objects that are being trained or built.
        own: type -> finished objects of the team.
        enemies: type -> known enemy objects.
        threats: probable army types of the enemy, the commonest first; those of its factories if none was
            seen.
    """

    def __init__(self, num_agents: int, text: str) -> None:
        body, _, last = text.rpartition("\n")
        decision, shares = last.removeprefix("Decision ").split(". Seen lately: ")
        self.decision, self.view = int(decision), read(body)
        self.lately = {UNITS.index(kind): int(share) for share, kind in _SHARE.findall(shares)}
        self.hands = [Hand() for _ in range(num_agents)]
        self.coming: Counter[int] = Counter()
        for k in range(int(self.view["num_own"])):
            self._count(k)
        self.own: Counter[int] = sum((hand.own for hand in self.hands), Counter())
        self.enemies = Counter(self.view["enemy_type"][: int(self.view["num_enemy"])].tolist())
        self.threats = self._threats()

    @property
    def money(self) -> int:
        """Money of the team."""
        return int(self.view["money"])

    @property
    def seen(self) -> int:
        """Cells that are or were in sight."""
        return round(float(self.view["count"][:2].sum()) * NUM_CELLS)

    def _threats(self) -> list[int]:
        known = self.enemies
        weights = {kind: max(100 * known[kind], self.lately.get(kind, 0)) for kind in ARMY}
        seen = sorted((kind for kind in ARMY if weights[kind]), key=lambda kind: -weights[kind])
        return seen or [kind for kind, factory in FACTORY.items() if known[factory]]

    def is_attacked(self) -> bool:
        """Whether an enemy fighter is in sight near a building of the team."""
        own, number = self.view["own_type"][: int(self.view["num_own"])], int(self.view["num_enemy"])
        homes, fighters = np.flatnonzero(own >= FIRST_BUILDING), np.flatnonzero(np.isin(self.view["enemy_type"], ARMY))
        fighters = fighters[(fighters < number) & self.view["enemy_in_sight"][fighters]]
        apart = [
            np.abs(self.view[f"own_{axis}"][homes].astype(int)[:, None] - self.view[f"enemy_{axis}"][fighters])
            for axis in "xy"
        ]
        return bool((np.maximum(*apart) <= NEAR).any())

    def _count(self, k: int) -> None:
        kind, command = int(self.view["own_type"][k]), int(self.view["command_type"][k])
        hand, made = self.hands[int(self.view["owner"][k])], int(self.view["command_unit_type"][k])
        hand.own[kind] += 1
        if command in (C_BUILDING, C_UNIT):
            self.coming[made] += 1
        if kind == PEASANT:
            hand.idle_peasants += command == C_IDLE
            hand.free_peasants += command != C_BUILDING
            hand.gathering += command == C_GATHER
        elif kind >= FIRST_BUILDING:
            hand.idle_factories[kind] += command != C_UNIT
        else:
            hand.attacking += command == C_ATTACK
