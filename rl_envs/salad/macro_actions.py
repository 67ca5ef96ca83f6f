"""Macro actions of several primitive steps: which are available, their next move, and when they end (TWOSOME's list).

A macro action uses the agent's beliefs. It continues while it is available. It ends when it has touched its target,
when the other agent cancelled its move, or when it is no longer available: the thing is held, missing or out of reach,
the board is reached with empty hands, or the food is chopped. So one mask holds which macro actions can start and which
can continue.
"""

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad.kitchen import FAR, Kitchen
from rl_envs.salad.observation import Belief
from rl_envs.salad.symbols import BOARD, MOVES, NOTHING, NUM_BOARDS, NUM_FOODS, NUM_THINGS, STAY

WAIT = 0
GET = 1
"""First of five: fetch a thing, or combine it with the thing in hand."""
TO_BOARD = GET + NUM_THINGS
"""First of two: go to a board and put down the thing in hand."""
DELIVER, CHOP, SHARE = TO_BOARD + NUM_BOARDS, TO_BOARD + NUM_BOARDS + 1, TO_BOARD + NUM_BOARDS + 2
STEP = SHARE + 1
"""First of four: one step in the direction of a move."""
NAMES = (
    "wait",
    *("get_tomato", "get_lettuce", "get_onion", "get_plate_1", "get_plate_2"),
    *("go_to_board_1", "go_to_board_2", "deliver", "chop", "go_to_counter"),
    *(f"step_{move}" for move in MOVES[:STAY]),
)
NUM_MACROS = len(NAMES)


def useful_macros(kitchen: Kitchen, steps: bool) -> Array:
    """Macro actions that are useful in a kitchen, with single steps or without, [A] int64."""
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
        """Number of the board next to each of these cells [...], or NOTHING, [...] int64."""
        return self._board_beside[at]

    def on_boards(self, belief: Belief) -> tuple[Array, Array, Array]:
        """Whether unchopped food, chopped food and a plate are believed to be on each board, [B, N, 2] bool each."""
        there = (belief.cells[..., None] == self._boards) & ~belief.is_gone[..., None]
        foods, plates = there[:, :, :NUM_FOODS], there[:, :, NUM_FOODS:]
        bare = foods & (belief.in_plate == NOTHING)[..., None]
        chopped = belief.is_chopped[..., None]
        return (bare & ~chopped).any(2), (bare & chopped).any(2), plates.any(2)

    def available(self, belief: Belief) -> Array:
        """Macro actions that have an effect, as far as the agent knows, and waiting, [B, N, NUM_MACROS] bool."""
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
        # A thing on a board out of sight may have gone, so walking there is allowed.
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
        """The next primitive move of each macro action [B, N], [B, N] int64.

        One that is not `available` ([B, N, NUM_MACROS] bool) stays.
        """
        can = np.take_along_axis(available, macros[..., None], 2)[..., 0]
        targets, at = self._targets(np.where(macros < STEP, macros, WAIT), belief), belief.at
        through = self._first(targets, at, np.zeros_like(at))
        other = np.where(self._kitchen.in_sight[at, at[:, ::-1]], at[:, ::-1], 0)
        around = self._first(targets, at, other)
        ways = np.where(around == STAY, through, around)
        # Agents that both gave way would meet again forever, so the first one only gives way to an agent that stays.
        leaves = self._kitchen.is_floor[self._kitchen.neighbours[ways[:, 1], at[:, 1]]] & (ways[:, 1] != STAY)
        ways[:, 0] = np.where(leaves & can[:, 1] & (macros[:, 1] < STEP), through[:, 0], ways[:, 0])
        return np.where(can, np.where(macros < STEP, ways, macros - STEP), STAY)

    def is_over(self, macros: Array, belief: Belief, had: Array, touched: Array, lost: Array) -> Array:
        """Macro actions [B, N] that ended in this step, apart from those that are no longer available, [B, N] bool.

        `belief` is after the step, `had` [B, N] the thing in hand before it; moves `touched` something [B, N] bool, or
        were `lost` to the other agent, [B, N] bool.
        """
        gets_plate = (macros >= GET + NUM_FOODS) & (macros < TO_BOARD)
        has_filled = gets_plate & (had != NOTHING) & (belief.hand == NOTHING)
        is_done = touched & (macros != CHOP) & ~has_filled
        return is_done | lost | (macros == WAIT) | (macros >= STEP)

    def _first(self, targets: Array, at: Array, other: Array) -> Array:
        """First moves of shortest paths, [B, N] int64."""
        return self._kitchen.first_move[other, targets, at].astype(np.int64)

    def _targets(self, macros: Array, belief: Belief) -> Array:
        """Target cells of macro actions other than steps, [B, N] int64; a corner for waiting."""
        cells = np.zeros((*macros.shape, STEP), np.int64)
        cells[..., GET : GET + NUM_THINGS] = belief.cells
        cells[..., TO_BOARD : TO_BOARD + NUM_BOARDS] = self._boards
        cells[..., DELIVER] = self._kitchen.delivery
        cells[..., CHOP] = self._boards[self._board_beside[belief.at]]
        if len(self._shared):
            cells[..., SHARE] = self._shared[self._usable(belief).argmax(-1)]
        return np.take_along_axis(cells, macros[..., None], 2)[..., 0]

    def _usable(self, belief: Belief) -> Array:
        """Cells of the dividing counter that are in reach and believed to be empty, [B, N, S] bool."""
        taken = ((belief.cells[..., None] == self._shared) & ~belief.is_gone[..., None]).any(2)
        return ~taken & (self._kitchen.distance[self._shared, belief.at[..., None]] < FAR)
