"""What a situation is told as: numbers of sentences, and for each action the number of its phrase.

Only what an agent sees is told, and everything it sees (TWOSOME's order of slots, with the team mate before oneself).
All is arithmetic on arrays; the strings are in `grammar.py`. This file must not know about rules or rewards.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad import macro_actions as macro
from rl_envs.salad.grammar import FIRST_BOWL, NUM_CONTENTS, NUM_HANDS, ROOMS, Grammar
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.macro_actions import MacroActions
from rl_envs.salad.rules import AGENTS
from rl_envs.salad.sight import Belief, visible_things
from rl_envs.salad.symbols import CELLS, CHOPS, NOTHING, NUM_FOODS, NUM_THINGS, SIDE

_SILENT = 0
"""Number of the sentence that says nothing."""


class Teller:
    """Tells situations of one kitchen.

    Attributes:
        num_slots: S.
    """

    def __init__(self, kitchen: Kitchen, grammar: Grammar) -> None:
        self._kitchen, self._grammar = kitchen, grammar
        self._here = np.flatnonzero(kitchen.has)
        self._boards = np.flatnonzero(kitchen.boards != NOTHING)
        self.num_slots = 5 + len(self._here) + len(self._boards)
        columns = np.arange(CELLS) % SIDE
        sides = np.select([columns < SIDE // 2, columns > SIDE // 2], [1, 2], len(ROOMS) - 1)
        self._room = sides if kitchen.shared else np.zeros(CELLS, np.int64)
        # Kitchens lack things, so a thing's bit among the usual places is its number among those that are there.
        self._bit = np.where(kitchen.has, 1 << np.cumsum(kitchen.has) - 1, 0)
        self._offset = np.full((2 * SIDE, 2 * SIDE), NOTHING)
        for number, (down, right) in enumerate(grammar.offsets):
            self._offset[down, right] = number

    def tell(self, state: Arrays, knows: Array, rows: Array) -> Array:
        """Sentences for the agents of some worlds.

        Args:
            state: of all worlds.
            knows: [K, N] bool, agents that know the order.
            rows: [K] worlds.

        Returns:
            [K, N, S] uint16, places in `Grammar.sentences`.
        """
        first, at = self._grammar.first, state["agent_cells"][rows]
        seen, cells = visible_things(self._kitchen, state, rows), state["thing_cells"][rows]
        lies, condition = self._lying(state, rows)
        is_usual = (lies & (cells == self._kitchen.homes) & (condition == 0))[:, None] & seen
        elsewhere = (lies & (self._kitchen.board_of[cells] == NOTHING))[:, None] & seen & ~is_usual
        usual = (is_usual * self._bit).sum(-1)
        said = [first["kitchen"] + np.arange(AGENTS) * len(ROOMS) + self._room[at]]
        said += [np.where(usual > 0, first["usual"] - 1 + usual, _SILENT)]
        spots = self._grammar.spots[cells] + condition * (self._grammar.spots.max() + 1)
        for thing in self._here:
            number = first[f"thing_{thing}"] + spots[:, thing, None]
            said += [np.where(elsewhere[..., thing], number, _SILENT)]
        said += [self._on_board(state, rows, at, int(board)) for board in self._boards]
        loads = self.load(state, rows, state["held"][rows])
        said += [self._mate(at, loads), first["self"] + self._grammar.landmark[at] * self._grammar.num_loads + loads]
        order = first["order"] + state["recipe"][rows][:, None]
        said += [np.where(knows, order, first["secret"] + np.arange(AGENTS))]
        return np.stack(said, axis=-1).astype(np.uint16)

    def load(self, state: Arrays, rows: Array, things: Array) -> Array:
        """What is in hands or on boards: [K, M] things of these worlds to numbers of loads."""
        world = rows[:, None]
        food = np.clip(things, 0, NUM_FOODS - 1)
        of_food = 1 + food + NUM_FOODS * (state["chops"][world, food] >= CHOPS)
        plate = np.clip(things - NUM_FOODS, 0, None)
        of_plate = FIRST_BOWL + plate * NUM_CONTENTS + _contents(state, rows, plate)
        return np.select([things == NOTHING, things < NUM_FOODS], [0, of_food], of_plate)

    def phrases(self, macros: Array, state: Arrays, belief: Belief, actions: MacroActions, rows: Array) -> Array:
        """The phrase of every action: it names what is in hand, and what is to be chopped or fetched.

        Args:
            macros: [A], the actions.
            state: of all worlds.
            belief: of the agents in the K worlds.
            actions: knows which board is near.
            rows: [K] worlds.

        Returns:
            [K, N, A] uint16, places in `Grammar.phrases`.
        """
        held = np.minimum(belief.hand, NUM_FOODS) + 1
        hand = np.repeat(held[..., None], macro.NUM_MACROS, axis=2)
        is_filled = (belief.in_plate[..., None] == np.arange(NUM_THINGS - NUM_FOODS)).any(2)
        plates = hand[..., macro.GET + NUM_FOODS : macro.TO_BOARD]
        np.copyto(plates, NUM_HANDS - 1, where=is_filled & (plates == 0))
        board = actions.board_beside(belief.at)
        on_board = state["lying"][rows[:, None], self._kitchen.boards[board]]
        is_food = (board != NOTHING) & (on_board != NOTHING) & (on_board < NUM_FOODS)
        hand[..., macro.CHOP] = np.where(is_food, on_board + 1, 0)
        return (np.arange(len(macros)) * NUM_HANDS + hand[..., macros]).astype(np.uint16)

    def _lying(self, state: Arrays, rows: Array) -> tuple[Array, Array]:
        """[K, 5] bool, what lies open; [K, 5] int64, chopped or not, or what is in a bowl."""
        world, things = rows[:, None], np.arange(NUM_THINGS)
        lies = state["lying"][world, state["thing_cells"][rows]] == things
        condition = np.zeros(lies.shape, np.int64)
        condition[:, :NUM_FOODS] = state["chops"][rows] >= CHOPS
        condition[:, NUM_FOODS:] = _contents(state, rows, np.arange(NUM_THINGS - NUM_FOODS)[None])
        return lies, condition

    def _on_board(self, state: Arrays, rows: Array, at: Array, board: int) -> Array:
        cell = self._kitchen.boards[board]
        load = self.load(state, rows, state["lying"][rows, cell][:, None])
        return np.where(self._kitchen.in_sight[at, cell], self._grammar.first[f"board_{board}"] + load, _SILENT)

    def _mate(self, at: Array, loads: Array) -> Array:
        down, right = (
            other - own for other, own in zip(np.divmod(at[:, ::-1], SIDE), np.divmod(at, SIDE), strict=True)
        )
        is_seen, count = self._kitchen.in_sight[at, at[:, ::-1]], self._grammar.num_loads
        seen = 1 + self._offset[down, right] * count + loads[:, ::-1]
        told = 1 + len(self._grammar.offsets) * count
        return self._grammar.first["mate"] + np.arange(AGENTS) * told + np.where(is_seen, seen, 0)


def _contents(state: Arrays, rows: Array, plates: Array) -> Array:
    """Bits of the foods on plates, [K or 1, M] to [K, M]."""
    on_it = state["in_plate"][rows][:, None] == plates[..., None]
    return (on_it << np.arange(NUM_FOODS)).sum(-1)
