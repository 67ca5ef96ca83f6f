"""Hand-written plan of a cook: from its knowledge of one kitchen to the next macro action and its subtask.

A cook that reaches the boards chops and fills bowls. Of the others, a cook at the delivery serves what it is passed,
and a cook at the foods passes them on. Where both reach everything, Bob brings the foods and Alice the bowl. The
teacher plans with the true state, a cook with its beliefs.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from rl_envs.salad import macro_actions as macro
from rl_envs.salad.kitchen import FAR, STARTS, Kitchen
from rl_envs.salad.symbols import NOTHING, NUM_BOARDS, NUM_FOODS, NUM_THINGS, SIDE, STAY

WAITING, BRINGING, CHOPPING, SERVING = "wait", "bring", "chop", "serve"
_PLATES = range(NUM_FOODS, NUM_THINGS)
_BRINGS_FOOD = 1
"""Number of the agent that brings the foods where both reach everything."""


@dataclass(frozen=True)
class Subtask:
    """A subtask that one cook can request of another."""

    kind: str  # waiting, bringing, chopping or serving
    thing: int = NOTHING  # number of the thing to bring or chop, NOTHING otherwise; any plate is the first


WAIT = Subtask(WAITING)


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of one cook."""

    kitchen: Kitchen  # the kitchen
    agent: int  # number of the cook
    at: int  # its cell
    mate: int  # cell of the other cook, NOTHING if it is out of sight
    hand: int  # thing in hand or NOTHING
    cells: tuple[int, ...]  # cell of each thing
    is_chopped: tuple[bool, ...]  # whether each food is chopped
    in_plate: tuple[int, ...]  # plate that each food is on, or NOTHING
    is_gone: tuple[bool, ...]  # whether each thing is missing from its cell
    can: frozenset[int]  # available macro actions
    sees_all: bool  # whether everything is in sight
    wanted: frozenset[int]  # foods of the dish
    # things that this cook passed on; it brings them again only if it sees them
    passed: frozenset[int] = field(default_factory=frozenset)

    @property
    def hands_over(self) -> bool:
        """Whether this cook passes foods and bowls on to the other one."""
        return hands_over(self.kitchen, self.agent)

    @property
    def only_serves(self) -> bool:
        """Whether this cook only serves food passed by the other one."""
        return not self.hands_over and not _boards(self)

    def sees(self, cell: int) -> bool:
        """Whether a cell is in sight."""
        return self.sees_all or bool(self.kitchen.in_sight[self.at, cell])

    def reaches(self, cell: int) -> bool:
        """Whether this cook can touch the content of a cell."""
        return cell != NOTHING and bool(self.kitchen.distance[cell, self.at] < FAR)

    def contents(self, plate: int) -> frozenset[int]:
        """Foods on a plate."""
        return frozenset(food for food, on in enumerate(self.in_plate) if on == plate - NUM_FOODS)

    def on_board(self, board: int) -> list[int]:
        """Things that lie on a board, without foods on plates."""
        cell = int(self.kitchen.boards[board])
        return [
            thing
            for thing in range(NUM_THINGS)
            if self.cells[thing] == cell != NOTHING and not self.is_gone[thing] and not self.is_plated(thing)
        ]

    def is_plated(self, thing: int) -> bool:
        """Whether a thing is a food on a plate."""
        return thing < NUM_FOODS and self.in_plate[thing] != NOTHING


def hands_over(kitchen: Kitchen, agent: int) -> bool:
    """Whether a cook passes things over a middle counter to a cook at the boards."""
    can_other_chop = (kitchen.distance[kitchen.boards, STARTS[1 - _BRINGS_FOOD]] < FAR).any()
    return agent == _BRINGS_FOOD and bool(kitchen.shared) and bool(can_other_chop)


@lru_cache(2**16)
def next_macro(known: Knowledge) -> int:
    """The macro action that a cook should start."""
    if known.hand == NOTHING:
        wishes = _with_empty_hands(known)
    elif known.hand < NUM_FOODS:
        wishes = _with_food(known)
    else:
        wishes = _with_plate(known)
    return next((wish for wish in wishes if wish in known.can), macro.WAIT)


def to_subtask(action: int, known: Knowledge) -> Subtask:
    """The subtask to which a macro action belongs."""
    if action == macro.DELIVER:
        return Subtask(SERVING)
    if macro.TO_BOARD <= action < macro.TO_BOARD + NUM_BOARDS and known.hand == NOTHING:
        foods = [thing for thing in known.on_board(action - macro.TO_BOARD) if thing < NUM_FOODS]
        return Subtask(CHOPPING, foods[0]) if foods else WAIT
    if action == macro.CHOP:
        near = [board for board in range(NUM_BOARDS) if _is_next_to(known, known.at, board)]
        foods = [thing for board in near for thing in known.on_board(board) if thing < NUM_FOODS]
        return Subtask(CHOPPING, foods[0]) if foods else WAIT
    if macro.GET <= action < macro.TO_BOARD:
        return Subtask(BRINGING, min(action - macro.GET, NUM_FOODS))
    if known.hand == NOTHING or action == macro.WAIT:
        return WAIT
    if known.hand < NUM_FOODS and known.hand not in known.wanted:
        due = _foods_to_bring(known)
        return Subtask(BRINGING, due[0]) if due else WAIT
    return Subtask(BRINGING, min(known.hand, NUM_FOODS))


def macro_for(subtask: Subtask, known: Knowledge) -> int | None:
    """The macro action that advances a subtask; None if there is none."""
    if subtask.kind == BRINGING:
        things = [subtask.thing] if subtask.thing < NUM_FOODS else list(_PLATES)
        if known.hand in things:
            return next_macro(known)
        wishes = [*(macro.GET + thing for thing in things), *([] if known.hand == NOTHING else [macro.SHARE])]
    elif subtask.kind == CHOPPING:
        boards = [b for b in range(NUM_BOARDS) if subtask.thing in known.on_board(b)]
        wishes = [macro.CHOP, *(macro.TO_BOARD + board for board in boards)] if known.hand == NOTHING else []
    else:
        wishes = [macro.DELIVER] if subtask.kind == SERVING and known.hand in _PLATES else []
    return next((wish for wish in wishes if wish in known.can and wish != macro.WAIT), None)


def _with_plate(known: Knowledge) -> list[int]:
    contents = known.contents(known.hand)
    if contents == known.wanted or not contents <= known.wanted or (contents and known.only_serves):
        return [macro.DELIVER, macro.SHARE]
    missing = sorted(known.wanted - contents)
    wishes = [macro.GET + food for food in missing]
    if known.hands_over:
        return [*wishes, macro.SHARE]
    boards = _boards(known)
    if known.kitchen.shared:
        # Alone at the boards, the cook needs free hands and a free board for food that is not chopped yet.
        is_raw = any(not known.is_chopped[food] and not known.is_gone[food] for food in missing)
        return wishes + [macro.TO_BOARD + board for board in boards if is_raw and len(boards) > 1]
    # The cook carries a plate to the chopped food and leaves the board free.
    looks = [macro.TO_BOARD + board for board in boards if not known.sees(known.kitchen.boards[board])]
    return [*wishes, *looks, *_ways_aside(known)]


def _with_food(known: Knowledge) -> list[int]:
    boards = [macro.TO_BOARD + board for board in _boards(known)]
    if known.hand not in known.wanted:
        return [macro.SHARE, *_ways_aside(known)]
    if not known.is_chopped[known.hand]:
        return [macro.SHARE] if known.hands_over else [*boards, *_ways_aside(known)]
    plates = [macro.GET + plate for plate in _best_plates(known)]
    return [*plates, *([macro.SHARE] if known.hands_over else boards)]


def _with_empty_hands(known: Knowledge) -> list[int]:
    foods = [macro.GET + food for food in _foods_to_bring(known)]
    plates = [macro.GET + plate for plate in _best_plates(known) if _is_due(known, plate)]
    if known.hands_over:
        return foods + plates
    if known.only_serves:
        return [macro.GET + plate for plate in _PLATES if known.contents(plate)]
    boards = _boards(known)
    raw = [b for b in boards for food in known.on_board(b) if food in known.wanted and not known.is_chopped[food]]
    chops = ([macro.CHOP] if raw else []) + [macro.TO_BOARD + board for board in raw]
    if all(known.on_board(board) for board in boards):
        foods = []
    if known.kitchen.shared:
        return chops + foods + plates + [macro.TO_BOARD + board for board in boards]
    return chops + (foods + plates if known.agent == _BRINGS_FOOD else plates + foods) + _ways_aside(known)


def _ways_aside(known: Knowledge) -> list[int]:
    """Macro actions of an idle cook that blocks the other one: a step, or fetching a thing that is not needed."""
    if not _is_in_the_way(known, known.at):
        return []
    after = {macro.STEP + move: int(known.kitchen.neighbours[move, known.at]) for move in range(STAY)}
    steps = sorted(after, key=lambda step: (after[step] == known.mate, _is_in_the_way(known, after[step])))
    return steps + [macro.GET + thing for thing in range(NUM_THINGS) if thing not in known.wanted]


def _is_in_the_way(known: Knowledge, cell: int) -> bool:
    """Whether a cook in this cell blocks the way to a board or the delivery."""
    places = [*known.kitchen.boards[known.kitchen.boards != NOTHING], known.kitchen.delivery]
    return any(known.kitchen.distance[place, cell] == 1 for place in places)


def _foods_to_bring(known: Knowledge) -> list[int]:
    """Foods of the dish that are neither chopped nor on a board or plate."""
    boards = {int(board) for board in known.kitchen.boards}
    return [
        food
        for food in sorted(known.wanted)
        if not known.is_chopped[food]
        and not known.is_plated(food)
        and known.cells[food] not in boards
        and _is_due(known, food)
    ]


def _is_due(known: Knowledge, thing: int) -> bool:
    """Whether this cook should bring a thing; with a middle counter, only from its side and not passed on yet."""
    cell = known.cells[thing]
    if not known.kitchen.shared:
        return True
    if known.agent != _BRINGS_FOOD:
        return cell % SIDE <= SIDE // 2
    return cell not in known.kitchen.shared and (thing not in known.passed or known.sees(cell))


def _best_plates(known: Knowledge) -> list[int]:
    """Plates that can become the dish, the fullest first."""
    plates = [plate for plate in _PLATES if known.contents(plate) <= known.wanted and known.kitchen.has[plate]]
    return sorted(plates, key=lambda plate: -len(known.contents(plate)))


def _boards(known: Knowledge) -> list[int]:
    """Boards that this cook reaches; first those without the other cook, then empty ones."""
    boards = [board for board in range(NUM_BOARDS) if known.reaches(int(known.kitchen.boards[board]))]
    return sorted(boards, key=lambda board: (_is_next_to(known, known.mate, board), len(known.on_board(board))))


def _is_next_to(known: Knowledge, cell: int, board: int) -> bool:
    return bool(known.kitchen.distance[known.kitchen.boards[board], cell] == 1)
