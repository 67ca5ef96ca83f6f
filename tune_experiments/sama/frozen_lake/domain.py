"""The frozen lake for the planner: texts, and rules instead of a language model.

The rules have one of three kinds of knowledge. `blind`: only the agents' cells, so they choose far corners.
`remembering`: they explore near the agents, and avoid all cells of the remembered failed rounds (three, as in SAMA).
`privileged`: the map. States are the environment's text (`rl_envs/frozen_lake_spread/text.py`).
"""

import itertools
import random
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

import rl_envs.frozen_lake_spread
from rl_envs.frozen_lake_spread.maps import Lake, steps_to
from rl_envs.frozen_lake_spread.text import describe, parse
from rl_models.planners.domain import Allocation, Decomposition, Skill, SubgoalTexts
from rl_models.planners.replies import Fault, Phase

Knowledge = Literal["blind", "remembering", "privileged"]
REACH, EXPLORE, WAIT = "reach both targets", "explore", "wait"
STAY = "stay"
_AGENTS = ("Agent 1", "Agent 2")
_ON_TARGET = tuple(f"{agent.lower()} is on a target" for agent in _AGENTS)
_FAR = 1000
_MAX_STEPS = 100
_RULES = (
    "Two agents walk on a frozen lake of {side} rows and {side} columns; rows are counted from the top, columns from "
    "the left.\nAn agent moves one cell left, right, up or down. Some cells are holes, two are targets, all others are "
    "ice. Nobody can see which.\nThe game is over when an agent falls into a hole. It is won when each agent stands on "
    "a target of its own; an agent that has reached one stays there."
)
_MAP = "\nHoles are at {holes}. Targets are at {targets}."


def command_texts(side: int) -> tuple[str, ...]:
    """All commands, by number: that of the cell to go to, and the last one to stay."""
    places = itertools.product(range(1, side + 1), repeat=2)
    return (*(f"go to row {row}, column {column}" for row, column in places), STAY)


class LakeDomain:
    """`GameDomain` of one map, whose rules have the given knowledge; states are checked against the map."""

    title, source = "two-agent FrozenLake", Path(rl_envs.frozen_lake_spread.__file__).parent
    agents: tuple[str, ...] = _AGENTS
    objects: tuple[str, ...] = ("ice", "hole", "target")
    goal_verbs: tuple[str, ...] = ("reach", "stand")
    action_verbs: tuple[str, ...] = ("walk", "go", "fall")
    goals: tuple[str, ...] = (REACH, EXPLORE, WAIT)
    skills: tuple[Skill, ...] = (Skill(REACH, frozenset(), frozenset(_ON_TARGET)),)
    final_facts: frozenset[str] = frozenset(_ON_TARGET)

    def __init__(self, lake: Lake, knowledge: Knowledge) -> None:
        self.lake, self.knowledge = lake, knowledge
        self.name = f"frozen lake {lake.side}x{lake.side}"
        self.subgoals = command_texts(lake.side)
        self.map = ""
        if knowledge == "privileged":
            holes = self._places(np.flatnonzero(lake.holes))
            self.map = _MAP.format(holes=holes, targets=self._places(lake.targets))
        self.manual = _RULES.format(side=lake.side) + self.map

    def situation(self, state: str) -> str:
        """See `Domain.situation`."""
        arrived = [agent for agent, target in zip(_AGENTS, self._read(state)[1], strict=True) if target]
        return f"{' and '.join(arrived) or 'Nobody'} {'are' if len(arrived) > 1 else 'is'} on a target."

    def statuses(self, state: str) -> tuple[str, ...]:
        """See `Domain.statuses`."""
        cells, _ = self._read(state)
        return tuple(f"{agent} is at {self._places([cell])}" for agent, cell in zip(_AGENTS, cells, strict=True))

    def facts(self, state: str) -> frozenset[str]:
        """See `Domain.facts`."""
        targets = self._read(state)[1]
        return frozenset(fact for fact, target in zip(_ON_TARGET, targets, strict=True) if target)

    def diverse_states(self, count: int, seed: int) -> list[str]:
        """See `Domain.diverse_states`: pairs of cells; the check refuses those with an agent in a hole."""
        numbers, found = random.Random(seed), dict[str, None]()
        while len(found) < count:
            cells = np.array([numbers.randrange(self.lake.side**2) for _ in _AGENTS])
            if not self.lake.holes[cells].any():
                found[describe(self.lake, cells, np.zeros(2, int), numbers.randrange(_MAX_STEPS))] = None
        return list(found)

    def goal_list(self, state: str, length: int) -> tuple[str, ...]:
        """See `Domain.goal_list`: there is only one."""
        return (REACH,) * length

    def decompose(self, state: str, goal: str | None, failed: Collection[SubgoalTexts]) -> Decomposition:
        """See `Domain.decompose`."""
        cells, targets = self._read(state)
        walkers = [agent for agent in range(len(_AGENTS)) if not targets[agent]]
        thoughts, ranked = self._ranked(cells, targets, walkers, failed)
        stay = (STAY,) * (len(_AGENTS) - len(walkers))
        first: SubgoalTexts | None = None
        for chosen in itertools.islice(ranked, _FAR):
            texts = (*(self.subgoals[cell] for cell in chosen), *stay)
            first = first or texts
            if tuple(sorted(texts)) not in failed:
                return Decomposition(thoughts, goal or REACH, texts)
        return Decomposition(thoughts, goal or REACH, first or (STAY,) * len(_AGENTS))

    def possible_subgoals(self, state: str, agent: int, given: Sequence[str]) -> SubgoalTexts:
        """See `Domain.possible_subgoals`: another cell, and on a target to stay."""
        cells, targets = self._read(state)
        if targets[agent]:
            return (STAY,)
        return tuple(text for cell, text in enumerate(self.subgoals[:-1]) if cell != cells[agent])

    def allocate(self, state: str, subgoals: Sequence[str], failed: Collection[SubgoalTexts]) -> Allocation:
        """See `Domain.allocate`: the smallest total distance."""
        orders = sorted(((0, 1), (1, 0)), key=lambda order: self._cost(state, subgoals, order))
        fresh = [order for order in orders if tuple(subgoals[place] for place in order) not in failed]
        return Allocation("Whoever is nearer goes.", (fresh or orders)[0])

    def find_fault(self, state: str, subgoals: Sequence[str], order: Sequence[int]) -> Fault:
        """See `Domain.find_fault`: the allocation, if exchanging the targets is shorter; else the sub-goals."""
        is_longer = self._cost(state, subgoals, order) > self._cost(state, subgoals, order[::-1])
        phase: Phase = "allocation" if is_longer else "decomposition"
        return Fault(thoughts="A cell on the way may be a hole.", phase=phase)

    def _ranked(
        self, cells: Sequence[int], targets: Sequence[int], walkers: Sequence[int], failed: Collection[SubgoalTexts]
    ) -> tuple[str, Iterable[tuple[int, ...]]]:
        """Reasoning, and cells for the agents that move, the best first."""
        if self.knowledge == "privileged":
            return "The map shows safe ways.", [self._next_on_the_way(cells, targets, walkers)]
        if self.knowledge == "blind":
            side = self.lake.side
            corners = [cell for cell in (0, side - 1, side * (side - 1), side * side - 1) if cell not in cells]
            corners.sort(key=lambda corner: (-sum(self._distance(cells[n], corner) for n in walkers), corner))
            return "A target is likely to be far away.", itertools.permutations(corners, len(walkers))
        avoided = {self.subgoals.index(text) for pair in failed for text in pair}
        around = [cell for cell in range(self.lake.side**2) if cell not in avoided and cell not in cells]
        nearest = [sorted(around, key=lambda cell, n=n: (self._distance(cells[n], cell), -cell))[:4] for n in walkers]  # type: ignore[misc]
        pairs = (chosen for chosen in itertools.product(*nearest) if len(set(chosen)) == len(chosen))
        return "What is near can be tried at little risk.", pairs

    def _next_on_the_way(self, cells: Sequence[int], targets: Sequence[int], walkers: Sequence[int]) -> tuple[int, ...]:
        """The next cell of each walker on the shortest safe ways to free targets."""
        free = [number for number in range(len(self.lake.targets)) if number + 1 not in targets]
        steps = {n: steps_to(int(self.lake.targets[n]), self.lake.holes, self.lake.following) for n in free}
        pairs = itertools.permutations(free, len(walkers))
        best = min(pairs, key=lambda chosen: sum(steps[n][cells[w]] for n, w in zip(chosen, walkers, strict=True)))
        following = self.lake.following
        return tuple(
            int(min(following[cells[w]], key=lambda cell, n=n: steps[n][cell]))  # type: ignore[misc]
            for n, w in zip(best, walkers, strict=True)
        )

    def _cost(self, state: str, subgoals: Sequence[str], order: Sequence[int]) -> int:
        cells, targets = self._read(state)
        total = 0
        for agent, place in enumerate(order):
            is_idle = subgoals[place] == STAY
            total += 0 if is_idle else self._distance(cells[agent], self.subgoals.index(subgoals[place]))
            total += _FAR * (is_idle != (targets[agent] > 0))
        return total

    def _distance(self, cell: int, other: int) -> int:
        (row, column), (to_row, to_column) = (divmod(one, self.lake.side) for one in (cell, other))
        return abs(row - to_row) + abs(column - to_column)

    def _read(self, state: str) -> tuple[list[int], list[int]]:
        found = parse(self.lake, state)
        return found["cells"][0].tolist(), found["target"][0].tolist()

    def _places(self, cells: Iterable[int]) -> str:
        return "; ".join(f"row {cell // self.lake.side + 1}, column {cell % self.lake.side + 1}" for cell in cells)
