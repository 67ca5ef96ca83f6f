"""The text observation `situation` as a code, and its strings for language agents (Verco, section 4).

A code [F] int16 holds ids of the sentences that describe exactly what an agent sees, in TWOSOME's order of slots, with
the team mate before the agent itself; then ids of a phrase for each action. Codes are arithmetic on arrays; the strings
are in `grammar.py`. A prompt has the scene and the order apart, because messages stand between them.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.salad import macro_actions as macro
from rl_envs.salad.grammar import FIRST_BOWL, NUM_CONTENTS, NUM_HANDS, ROOMS, Grammar
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.macro_actions import MacroActions
from rl_envs.salad.observation import Belief, visible_things
from rl_envs.salad.rules import AGENTS
from rl_envs.salad.symbols import AGENT_NAMES, CELLS, CHOPS, NOTHING, NUM_FOODS, NUM_PLATES, NUM_THINGS, SIDE

_SILENT = 0
"""Id of the empty sentence."""
_PLATES, _FOOD_BITS = np.arange(NUM_PLATES), 1 << np.arange(NUM_FOODS)
_FIRST_LOAD = np.array([*range(1, 1 + NUM_FOODS), *(FIRST_BOWL + plate * NUM_CONTENTS for plate in range(NUM_PLATES))])
_LOAD_STEP = np.array([NUM_FOODS] * NUM_FOODS + [1] * NUM_PLATES)
"""Load number of each thing in its first condition, and the step to its next condition."""


class SituationDescriber:
    """Describes situations of one kitchen in sentence and phrase ids, with `num_slots` (S) sentences each."""

    def __init__(self, kitchen: Kitchen, grammar: Grammar) -> None:
        self._kitchen, self._grammar = kitchen, grammar
        self._here = np.flatnonzero(kitchen.has)
        self._first_of_thing = np.array([grammar.first[f"thing_{thing}"] for thing in self._here])
        is_there = kitchen.boards != NOTHING
        self._boards = kitchen.boards[is_there]
        self._first_of_board = np.array([grammar.first[f"board_{board}"] for board in np.flatnonzero(is_there)])
        self._first_spot = grammar.spots.max() + 1
        self.num_slots = 5 + len(self._here) + len(self._boards)
        columns = np.arange(CELLS) % SIDE
        sides = np.select([columns < SIDE // 2, columns > SIDE // 2], [1, 2], len(ROOMS) - 1)
        self._room = sides if kitchen.shared else np.zeros(CELLS, np.int64)
        # A kitchen may lack things, so a thing's bit is its index among the things of this kitchen.
        self._bit = 1 << np.arange(len(self._here))
        self._offset = np.full((2 * SIDE, 2 * SIDE), NOTHING)
        for number, (down, right) in enumerate(grammar.offsets):
            self._offset[down, right] = number

    def describe(self, state: Arrays, knows: Array, rows: Array) -> Array:
        """The situation of every agent in worlds `rows` [K], [K, N, S] int16, indices into `Grammar.sentences`.

        `state` is that of all worlds, name -> [B, ...]; `knows` [K, N] says who knows the order.
        """
        first, at, lying = self._grammar.first, state["agent_cells"][rows], state["lying"][rows]
        condition = self._condition(state, rows)
        loads = np.concatenate([_FIRST_LOAD + _LOAD_STEP * condition, np.zeros((len(rows), 1), np.int64)], axis=1)
        hands = np.take_along_axis(loads, state["held"][rows], 1)
        on_boards = np.take_along_axis(loads, lying[:, self._boards], 1)
        numbers = np.empty((*at.shape, self.num_slots), np.int16)
        things, boards = 2 + len(self._here), 2 + len(self._here) + len(self._boards)
        numbers[..., 0] = first["kitchen"] + np.arange(AGENTS) * len(ROOMS) + self._room[at]
        numbers[..., 1], numbers[..., 2:things] = self._things(state, rows, lying, condition)
        board_seen = self._kitchen.in_sight[at[..., None], self._boards]
        numbers[..., things:boards] = np.where(board_seen, (self._first_of_board + on_boards)[:, None], _SILENT)
        numbers[..., -3] = self._mate(at, hands)
        numbers[..., -2] = first["self"] + self._grammar.landmark[at] * self._grammar.num_loads + hands
        order = first["order"] + state["recipe"][rows][:, None]
        numbers[..., -1] = np.where(knows, order, first["secret"] + np.arange(AGENTS))
        return numbers

    def _things(self, state: Arrays, rows: Array, lying: Array, condition: Array) -> tuple[Array, Array]:
        """Ids of the sentences about things in usual places, [K, N], and about each other thing, [K, N, things]."""
        here, cells = self._here, state["thing_cells"][rows][:, self._here]
        seen = visible_things(self._kitchen, state, rows)[..., here]
        lies = np.take_along_axis(lying, cells, 1) == here
        is_usual = lies & (cells == self._kitchen.homes[here]) & (condition[:, here] == 0)
        bits = ((is_usual[:, None] & seen) * self._bit).sum(-1)
        usual = np.where(bits > 0, self._grammar.first["usual"] - 1 + bits, _SILENT)
        spots = self._first_of_thing + self._grammar.spots[cells] + condition[:, here] * self._first_spot
        is_elsewhere = lies & ~is_usual & (self._kitchen.board_of[cells] == NOTHING)
        return usual, np.where(is_elsewhere[:, None] & seen, spots[:, None], _SILENT)

    def _condition(self, state: Arrays, rows: Array) -> Array:
        """[K, 5] int64: for foods whether they are chopped, for bowls their contents."""
        condition = np.empty((len(rows), NUM_THINGS), np.int64)
        condition[:, :NUM_FOODS] = state["chops"][rows] >= CHOPS
        on_plate = state["in_plate"][rows][:, None] == _PLATES[:, None]
        condition[:, NUM_FOODS:] = (on_plate * _FOOD_BITS).sum(-1)
        return condition

    def phrases(self, macros: Array, state: Arrays, belief: Belief, actions: MacroActions, rows: Array) -> Array:
        """Ids of the phrases of actions `macros` [A] in worlds `rows` [K], [K, N, A] int16, of `Grammar.phrases`.

        They name the thing in hand and the thing to chop or fetch. `state` is that of all worlds, name -> [B, ...].
        """
        held = np.minimum(belief.hand, NUM_FOODS) + 1
        hand = np.repeat(held[..., None], macro.NUM_MACROS, axis=2)
        is_filled = (belief.in_plate[..., None] == _PLATES).any(2)
        plates = hand[..., macro.GET + NUM_FOODS : macro.TO_BOARD]
        np.copyto(plates, NUM_HANDS - 1, where=is_filled & (plates == 0))
        board = actions.board_beside(belief.at)
        on_board = state["lying"][rows[:, None], self._kitchen.boards[board]]
        is_food = (board != NOTHING) & (on_board != NOTHING) & (on_board < NUM_FOODS)
        hand[..., macro.CHOP] = np.where(is_food, on_board + 1, 0)
        return (np.arange(len(macros)) * NUM_HANDS + hand[..., macros]).astype(np.int16)

    def _mate(self, at: Array, loads: Array) -> Array:
        down, right = (
            other - own for other, own in zip(np.divmod(at[:, ::-1], SIDE), np.divmod(at, SIDE), strict=True)
        )
        is_seen, count = self._kitchen.in_sight[at, at[:, ::-1]], self._grammar.num_loads
        seen = 1 + self._offset[down, right] * count + loads[:, ::-1]
        per_agent = 1 + len(self._grammar.offsets) * count
        return self._grammar.first["mate"] + np.arange(AGENTS) * per_agent + np.where(is_seen, seen, 0)


class _WithText(Protocol):
    """What a narrator reads of `Salad`."""

    observation_spec: dict[str, ArraySpec]
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    num_sentences: int


class Narrator:
    """Turns situation codes of one kind of kitchen into text. It keeps the sentences, not the world."""

    def __init__(self, world: _WithText) -> None:
        """Copy sentences and phrases of a world."""
        if "situation" not in world.observation_spec:
            raise ValueError("this world has no text: make it with text=True")
        self._sentences, self._phrases = world.sentences, world.phrases
        self._num_sentences = world.num_sentences

    def speaker(self, code: Array) -> int:
        """Number of the agent to which this code [F] int16 belongs."""
        return (int(code[0]) - 1) // len(ROOMS)

    def scene(self, code: Array) -> str:
        """Description of everything that the agent of a code [F] int16 sees."""
        sentences = (self._sentences[number] for number in code[: self._num_sentences - 1].tolist())
        return " ".join(filter(None, sentences))

    def order(self, code: Array) -> str:
        """The sentence about the order, as far as the agent of a code [F] int16 knows it."""
        return self._sentences[int(code[self._num_sentences - 1])]

    def actions(self, code: Array) -> tuple[str, ...]:
        """Phrases of the A actions of a code [F] int16."""
        return tuple(self._phrases[number] for number in code[self._num_sentences :].tolist())

    def message_prompt(self, code: Array) -> str:
        """Prompt that the speaker of a code [F] int16 continues with its message: the paper's rho_m."""
        me, mate = self._names(code)
        return f"{self.scene(code)} {self.order(code)} {me} tells {mate}:"

    def action_prompt(self, code: Array, heard: Sequence[str] = ()) -> str:
        """Prompt that an agent continues with its action, after the received messages: the paper's rho_u.

        `code` [F] int16 is its situation; an empty text is no message.
        """
        me, mate = self._names(code)
        messages = "".join(f' {mate} says: "{message}"' for message in heard if message)
        return f"{self.scene(code)}{messages} {self.order(code)} Now {me} should"

    def teacher_prompt(self, codes: Sequence[Array], max_words: int) -> str:
        """Prompt for a large language model as teacher: the paper's rho_tch; `codes` [F] are N agents' situations."""
        situations = "\n".join(
            f"{AGENT_NAMES[self.speaker(code)]} is told: {self.scene(code)} {self.order(code)}" for code in codes
        )
        wanted = "\n".join(f"{name}: <message>" for name in AGENT_NAMES)
        return (
            f"You guide {len(AGENT_NAMES)} cooks, {' and '.join(AGENT_NAMES)}, who make a salad together in a small "
            "kitchen. Foods are chopped on a cutting board, go into a bowl when they are chopped, and the bowl is "
            "served at the delivery. A cook holds one thing at a time, sees only what is near, and may be unable to "
            f"reach the other room: then things are passed over the middle counter.\n{situations}\n"
            f"Write the one message that each cook should now send to the other, at most {max_words} words each, so "
            "that they share the work and do not get into each other's way. Answer with these lines and nothing "
            f"else:\n{wanted}"
        )

    def _names(self, code: Array) -> tuple[str, str]:
        me = self.speaker(code)
        return AGENT_NAMES[me], AGENT_NAMES[1 - me]
