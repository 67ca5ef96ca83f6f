"""Rules of a primitive step in many kitchens: moves, chopping, plating, serving (TWOSOME's engine, Verco 5.1).

Agents act in their order. There is no heading: a move into a cell that is not floor touches it. The effect follows from
the kind of cell, the hand and the thing that lies there (`EFFECTS`).
"""

from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.symbols import BOARD, CHOPS, DELIVERY, NOTHING, NUM_FOODS, NUM_THINGS, STAY

AGENTS = 2
RESTORES = ("nearest", "cover")
_EMPTY, _RAW, _CHOPPED, _PLATE = range(4)
"""Content of a hand or a cell."""
_COUNTER_PLACE, _BOARD_PLACE, _DELIVERY_PLACE = range(3)
_NONE, _TAKE, _CHOP, _PUT, _FILL, _SCOOP, _JOIN, _SERVE = range(8)
"""Effects: nothing; pick up; one chop; lay down; food into the plate that lies there; food from there onto the plate in
hand; food into the plate on the board, which is then in hand; deliver."""


def _effects() -> Array:
    """[3 places, 4 in hand, 4 lying] uint8."""
    effects = np.full((3, 4, 4), _NONE, np.uint8)
    for place in (_COUNTER_PLACE, _BOARD_PLACE):
        effects[place, _EMPTY, _RAW:] = _TAKE
        effects[place, _RAW:, _EMPTY] = _PUT
        effects[place, _PLATE, _CHOPPED] = _SCOOP
    effects[_BOARD_PLACE, _EMPTY, _RAW] = _CHOP
    effects[_COUNTER_PLACE, _CHOPPED, _PLATE] = _FILL
    effects[_BOARD_PLACE, _CHOPPED, _PLATE] = _JOIN
    effects[_DELIVERY_PLACE, _RAW:] = _SERVE
    return effects


EFFECTS = _effects()


@dataclass(frozen=True)
class Outcome:
    """The result of one step."""

    chopped: Array  # [B] int64, foods of the recipe whose chopping was completed and pays
    wrong: Array  # [B] int64, wrong deliveries
    correct: Array  # [B] bool, the dish was served
    lost: Array  # [B, N] bool, moves cancelled by the other agent
    touched: Array  # [B, N] bool, moves that touched something


class Rules:
    """The rules of one kitchen, applied to a state.

    `agent_cells` [B, N], `held` [B, N] (thing or NOTHING), `thing_cells` [B, 5] (held things are where the agent is,
    food on a plate where the plate is), `lying` [B, 49] (thing that can be touched in each cell, or NOTHING), `chops`
    [B, 3], `in_plate` [B, 3] (0, 1 or NOTHING), `has_paid` [B, 3]. All are int64, the last bool.
    """

    def __init__(self, kitchen: Kitchen, *, swap: bool, restore: str, rechop_pays: bool) -> None:
        """Select the rules.

        With `swap`, agents that move into each other's cells swap; otherwise both lose their move. `restore`: place of
        things after a wrong delivery if their home is taken: `nearest` free counter, or `cover` the thing there.
        `rechop_pays`: whether a food that a wrong delivery made raw again pays again when chopped.
        """
        self._kitchen, self._swap, self._covers, self._rechop_pays = kitchen, swap, restore == "cover", rechop_pays
        self._place = np.select(
            [kitchen.fixtures == BOARD, kitchen.fixtures == DELIVERY], [_BOARD_PLACE, _DELIVERY_PLACE], _COUNTER_PLACE
        )

    def play(self, state: Arrays, moves: Array) -> Outcome:
        """Apply primitive moves [B, N] to the state (see the class; `recipe` [B] are indices into `RECIPES`)."""
        targets = self._kitchen.neighbours[moves, state["agent_cells"]]
        walks = self._kitchen.is_floor[targets] & (moves != STAY)
        touched = ~self._kitchen.is_floor[targets]
        lost = self._walk(state["agent_cells"], targets, walks)
        count = len(moves)
        chopped, wrong, correct = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, bool)
        for agent in range(AGENTS):
            rows = np.flatnonzero(touched[:, agent])
            self._touch(state, agent, rows, targets[rows, agent], chopped, wrong, correct)
        self.carry(state)
        return Outcome(chopped, wrong, correct, lost, touched)

    def _walk(self, cells: Array, targets: Array, walks: Array) -> Array:
        """Move both agents (the first may follow the second); returns the cancelled moves, [B, N] bool."""
        here, there = cells[:, 0], cells[:, 1]
        first, second = walks.T
        meets = targets[:, 0] == there
        crosses = first & second & meets & (targets[:, 1] == here)
        first_goes = first & ~meets
        here_then = np.where(first_goes, targets[:, 0], here)
        second_goes = second & ~crosses & (targets[:, 1] != here_then)
        first_follows = first & meets & second_goes
        if self._swap:
            first_follows, second_goes = first_follows | crosses, second_goes | crosses
        goes = np.stack([first_goes | first_follows, second_goes], axis=1)
        np.copyto(cells, targets, where=goes)
        return walks & ~goes

    def _touch(
        self, state: Arrays, agent: int, rows: Array, cells: Array, chopped: Array, wrong: Array, correct: Array
    ) -> None:
        """Apply the effects of one agent's touching these cells in these worlds."""
        thing, hand = self._thing_in(state, rows, cells), state["held"][rows, agent]
        effect = EFFECTS[self._place[cells], _thing_class(state, rows, hand), _thing_class(state, rows, thing)]
        for kind in np.unique(effect[effect != _NONE]):
            one = effect == kind
            world, cell, lies, holds = rows[one], cells[one], thing[one], hand[one]
            if kind == _TAKE:
                state["held"][world, agent], state["lying"][world, cell] = lies, NOTHING
            elif kind == _CHOP:
                self._chop(state, world, lies, chopped)
            elif kind == _PUT:
                state["held"][world, agent], state["lying"][world, cell] = NOTHING, holds
                state["thing_cells"][world, holds] = cell
            elif kind == _FILL:
                state["held"][world, agent], state["in_plate"][world, holds] = NOTHING, lies - NUM_FOODS
            elif kind == _SCOOP:
                state["lying"][world, cell], state["in_plate"][world, lies] = NOTHING, holds - NUM_FOODS
            elif kind == _JOIN:
                state["held"][world, agent], state["lying"][world, cell] = lies, NOTHING
                state["in_plate"][world, holds] = lies - NUM_FOODS
            else:
                self._serve(state, agent, world, holds, wrong, correct)

    def _thing_in(self, state: Arrays, rows: Array, cells: Array) -> Array:
        """Things in these cells; of two plates on top of each other the first one."""
        thing = state["lying"][rows, cells]
        if self._covers:
            first_is_there = (thing > NUM_FOODS) & (state["thing_cells"][rows, NUM_FOODS] == cells)
            thing = np.where(first_is_there, NUM_FOODS, thing)
        return thing

    def _chop(self, state: Arrays, rows: Array, foods: Array, chopped: Array) -> None:
        state["chops"][rows, foods] += 1
        is_wanted = (state["recipe"][rows] + 1) >> foods & 1 == 1
        pays = (state["chops"][rows, foods] == CHOPS) & is_wanted
        if not self._rechop_pays:
            pays &= ~state["has_paid"][rows, foods]
        state["has_paid"][rows[pays], foods[pays]] = True
        chopped[rows] += pays

    def _serve(self, state: Arrays, agent: int, rows: Array, holds: Array, wrong: Array, correct: Array) -> None:
        is_plate = holds >= NUM_FOODS
        on_it = state["in_plate"][rows] == (holds - NUM_FOODS)[:, None]
        foods = (on_it << np.arange(NUM_FOODS)).sum(1)
        is_right = is_plate & (foods == state["recipe"][rows] + 1)
        correct[rows] |= is_right
        wrong[rows] += ~is_right
        state["held"][rows, agent] = NOTHING
        served = rows[is_right]
        state["thing_cells"][served, holds[is_right]] = self._kitchen.delivery
        returns = np.zeros((len(rows), NUM_THINGS), bool)
        returns[:, :NUM_FOODS] = on_it & is_plate[:, None]
        returns[np.arange(len(rows)), holds] = True
        self._send_home(state, rows[~is_right], returns[~is_right])

    def _send_home(self, state: Arrays, rows: Array, returns: Array) -> None:
        """Return things ([K, 5] bool) to their first cells, foods raw and plates empty."""
        for thing in range(NUM_THINGS):
            here = rows[returns[:, thing]]
            home = np.full(len(here), self._kitchen.homes[thing])
            if not self._covers:
                spare = self._kitchen.spare[thing]
                home = spare[(state["lying"][here[:, None], spare] == NOTHING).argmax(1)]
            state["lying"][here, home] = thing
            state["thing_cells"][here, thing] = home
            if thing < NUM_FOODS:
                state["chops"][here, thing], state["in_plate"][here, thing] = 0, NOTHING

    def carry(self, state: Arrays) -> None:
        """Move held things to their agents' cells, and foods on plates to the plates' cells, in a state [B, ...]."""
        world, agent = np.nonzero(state["held"] != NOTHING)
        state["thing_cells"][world, state["held"][world, agent]] = state["agent_cells"][world, agent]
        world, food = np.nonzero(state["in_plate"] != NOTHING)
        state["thing_cells"][world, food] = state["thing_cells"][world, NUM_FOODS + state["in_plate"][world, food]]


def _thing_class(state: Arrays, rows: Array, things: Array) -> Array:
    """Class of each thing: empty, raw, chopped or plate."""
    chops = state["chops"][rows, np.minimum(things, NUM_FOODS - 1)]
    of_food = np.where(chops >= CHOPS, _CHOPPED, _RAW)
    return np.where(things == NOTHING, _EMPTY, np.where(things >= NUM_FOODS, _PLATE, of_food))
