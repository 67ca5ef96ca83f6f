"""Errands that take several primitive steps: which are available, how they go on, when they end (TWOSOME's list).

A macro action is carried out on what the agent believes. It goes on while it is available and ends when its bump was
made, when its move was lost to the other agent, or when it is no longer available: the thing is in somebody's hand, not
where it should be, out of reach, the board is reached with empty hands, the food is chopped. So one mask says what may
be chosen and what may go on. This file must not know about rewards or text.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad.kitchen import FAR, Kitchen
from rl_envs.salad.sight import Belief
from rl_envs.salad.symbols import BOARD, MOVES, NOTHING, NUM_BOARDS, NUM_FOODS, NUM_THINGS, STAY

WAIT = 0
GET = 1
"""First of five: fetch a thing, or bring it together with what is in hand."""
TO_BOARD = GET + NUM_THINGS
"""First of two: go to a board and lay down what is in hand."""
DELIVER, CHOP, SHARE = TO_BOARD + NUM_BOARDS, TO_BOARD + NUM_BOARDS + 1, TO_BOARD + NUM_BOARDS + 2
STEP = SHARE + 1
"""First of four: one cell in the direction of a move."""
NAMES = (
    "wait",
    *("get_tomato", "get_lettuce", "get_onion", "get_plate_1", "get_plate_2"),
    *("go_to_board_1", "go_to_board_2", "deliver", "chop", "go_to_counter"),
    *(f"step_{move}" for move in MOVES[:STAY]),
)
NUM_MACROS = len(NAMES)


def macros_of(kitchen: Kitchen, steps: bool) -> Array:
    """[A] int64, macro actions that make sense in a kitchen.

    Args:
        kitchen: where.
        steps: single steps, too.
    """
    makes_sense = np.ones(NUM_MACROS, bool)
    makes_sense[GET : GET + NUM_THINGS] = kitchen.has
    makes_sense[TO_BOARD : TO_BOARD + NUM_BOARDS] = kitchen.boards != NOTHING
    makes_sense[SHARE] = bool(kitchen.shared)
    makes_sense[STEP:] = steps
    return np.flatnonzero(makes_sense)


class MacroActions:
    """The macro actions of one kitchen."""

    def __init__(self, kitchen: Kitchen) -> None:
        self._kitchen = kitchen
        self._boards = kitchen.boards
        self._shared = np.array(kitchen.shared, np.int64)
        beside = kitchen.fixtures[kitchen.neighbours[:STAY]] == BOARD
        cell = np.take_along_axis(kitchen.neighbours[:STAY], beside.argmax(0)[None], 0)[0]
        self._board_beside = np.where(beside.any(0) & kitchen.is_floor, kitchen.board_of[cell], NOTHING)

    def board_beside(self, at: Array) -> Array:
        """Same shape int64, number of the board next to these cells, or NOTHING."""
        return self._board_beside[at]

    def on_boards(self, belief: Belief) -> tuple[Array, Array, Array]:
        """[B, N, 2] bool each: unchopped food, chopped food and a plate is believed to be on each board."""
        there = (belief.cells[..., None] == self._boards) & ~belief.is_gone[..., None]
        foods, plates = there[:, :, :NUM_FOODS], there[:, :, NUM_FOODS:]
        bare = foods & (belief.in_plate == NOTHING)[..., None]
        chopped = belief.is_chopped[..., None]
        return (bare & ~chopped).any(2), (bare & chopped).any(2), plates.any(2)

    def available(self, belief: Belief) -> Array:
        """Macro actions that would do something, as far as the agent knows.

        Returns:
            [B, N, NUM_MACROS] bool; waiting always would.
        """
        hand, at = belief.hand, belief.at
        available = np.ones((*hand.shape, NUM_MACROS), bool)
        is_empty, has_plate = hand == NOTHING, hand >= NUM_FOODS
        own = np.take_along_axis(belief.is_chopped, np.clip(hand, 0, NUM_FOODS - 1)[..., None], 2)[..., 0]
        has_chopped = own & ~is_empty & ~has_plate
        raw_on, chopped_on, plate_on = self.on_boards(belief)
        reach = self._kitchen.distance[belief.cells, at[..., None]] < FAR
        empty, plate, cut = is_empty[..., None], has_plate[..., None], has_chopped[..., None]
        on_board = (self._kitchen.board_of[belief.cells[..., :NUM_FOODS]] != NOTHING) & ~belief.is_chopped
        get = available[..., GET : GET + NUM_THINGS]
        get[..., :NUM_FOODS] = (empty & ~on_board) | (plate & belief.is_chopped)
        get[..., :NUM_FOODS] &= belief.in_plate == NOTHING
        get[..., NUM_FOODS:] = empty | cut
        get &= reach & ~belief.is_gone
        is_free = ~(raw_on | chopped_on | plate_on)
        lays = is_free | (plate & chopped_on) | (cut & plate_on)
        distance = self._kitchen.distance[self._boards, at[..., None]]
        # What was on a board that is out of sight may have gone, so it is worth a walk.
        lays |= ~self._kitchen.in_sight[at[..., None], self._boards]
        to_board = np.where(empty, distance > 1, lays) & (distance < FAR)
        available[..., TO_BOARD : TO_BOARD + NUM_BOARDS] = to_board
        available[..., DELIVER] = ~is_empty & (self._kitchen.distance[self._kitchen.delivery, at] < FAR)
        beside = self._board_beside[at]
        available[..., CHOP] = is_empty & (raw_on & (beside[..., None] == np.arange(NUM_BOARDS))).any(-1)
        if len(self._shared):
            available[..., SHARE] = ~is_empty & self._usable(belief).any(-1)
        available[..., STEP:] = self._kitchen.is_floor[self._kitchen.neighbours[:STAY].T[at]]
        return available

    def moves(self, macros: Array, available: Array, belief: Belief) -> Array:
        """The next primitive move of each macro action.

        Args:
            macros: [B, N], what the agents are about.
            available: [B, N, NUM_MACROS]; what is not available is a rest.
            belief: what the agents believe.

        Returns:
            [B, N] int64.
        """
        can = np.take_along_axis(available, macros[..., None], 2)[..., 0]
        targets, at = self._targets(np.where(macros < STEP, macros, WAIT), belief), belief.at
        through = self._first(targets, at, np.zeros_like(at))
        other = np.where(self._kitchen.in_sight[at, at[:, ::-1]], at[:, ::-1], 0)
        around = self._first(targets, at, other)
        ways = np.where(around == STAY, through, around)
        # Agents that both gave way would meet again, for ever: the first one does so only for one who stands still.
        leaves = self._kitchen.is_floor[self._kitchen.neighbours[ways[:, 1], at[:, 1]]] & (ways[:, 1] != STAY)
        ways[:, 0] = np.where(leaves & can[:, 1] & (macros[:, 1] < STEP), through[:, 0], ways[:, 0])
        return np.where(can, np.where(macros < STEP, ways, macros - STEP), STAY)

    def is_over(self, macros: Array, belief: Belief, had: Array, touched: Array, lost: Array) -> Array:
        """Macro actions that have ended by this step, apart from those no longer available.

        Args:
            macros: [B, N], what the agents were about.
            belief: after the step.
            had: [B, N] thing in hand before it.
            touched: [B, N] bool, bumps.
            lost: [B, N] bool, moves lost to the other agent.

        Returns:
            [B, N] bool.
        """
        gets_plate = (macros >= GET + NUM_FOODS) & (macros < TO_BOARD)
        has_filled = gets_plate & (had != NOTHING) & (belief.hand == NOTHING)
        is_done = touched & (macros != CHOP) & ~has_filled
        return is_done | lost | (macros == WAIT) | (macros >= STEP)

    def _first(self, targets: Array, at: Array, other: Array) -> Array:
        """[B, N] int64, first moves of shortest ways."""
        return self._kitchen.first_move[other, targets, at].astype(np.int64)

    def _targets(self, macros: Array, belief: Belief) -> Array:
        """[B, N] cells that macro actions other than steps lead to; a corner for waiting."""
        cells = np.zeros((*macros.shape, STEP), np.int64)
        cells[..., GET : GET + NUM_THINGS] = belief.cells
        cells[..., TO_BOARD : TO_BOARD + NUM_BOARDS] = self._boards
        cells[..., DELIVER] = self._kitchen.delivery
        cells[..., CHOP] = self._boards[self._board_beside[belief.at]]
        if len(self._shared):
            cells[..., SHARE] = self._shared[self._usable(belief).argmax(-1)]
        return np.take_along_axis(cells, macros[..., None], 2)[..., 0]

    def _usable(self, belief: Belief) -> Array:
        """[B, N, S] bool, cells of the dividing counter in reach on which nothing is believed to be."""
        taken = ((belief.cells[..., None] == self._shared) & ~belief.is_gone[..., None]).any(2)
        return ~taken & (self._kitchen.distance[self._shared, belief.at[..., None]] < FAR)
