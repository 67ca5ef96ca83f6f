"""Rock-paper-scissors with letters (RTFM, Zhong et al., ICLR 2020, appendix): a small reading task.

Three sentences of the document say which letter beats which, in a circle. A dragon has one of the letters, and each of
three items in the room has one. The agent wins if it meets the dragon while it holds the letter that beats the dragon's.

| | |
|---|---|
| agents | `agent_0` |
| actions | 5: stay, up, down, left, right; a move into a wall does nothing |
| observation `grid` | [H, W, P] uint8, names in each cell, highest first (agent, dragon, items); rows of `tables["name_words"]`. P = `names_per_cell` |
| observation `position` | [1, 2] uint8, row and column of the agent; (0, 0) if it is dead |
| observation `legal` | [5] bool, moves that do not lead into a wall; stay always |
| observation `inventory` | [1] uint8, name of the item that the agent holds; a row of `tables["name_words"]` |
| observation `document` | row of the text table: [L] tokens, L = 12 |
| observation `goal` | row of the text table: [L] tokens, L = 2 |
| observation `answer_word` | [] uint8, only with `tells_answer`: index in the document of the letter that beats the dragon's; for auxiliary losses, never for a policy |
| tables | `name_words` [K, 3] int16 and `name_kinds` [K] uint8, as in RTFM |
| rewards | +1 for a win, -1 for any other end, else -0.02 |
| episode end | terminated: the dragon or the agent is dead, or `max_episode_steps` (1000) is reached, which is a loss; never truncated |
| turn order | the dragon moves first (with probability 0.6 toward the agent if it sees it, else at random), then the agent |
| arguments | `size` (10, walls included; the paper tests in 9, 10 and 11), `setting` (permutation; or `ten_letters`, the same with ten letters instead of five, `new_edge`, `new_edge_and_nodes`: how evaluation differs from training), `split` (train; or `eval`, or its parts `valid` and `test`), `max_episode_steps` (1000), `drop` (destroy: picking up an item destroys the held one, as the authors do; or `floor`), `names_per_cell` (1), `sight` (None: the whole room; or a Euclidean distance in cells), `tells_answer` (False) |
| recorded draws | `monster_moves` [B, 1] int, 0 .. 4 or -1 for none; `monster_order` [B, 1] int, which has no effect with one monster |
| state for `restore` | cells as row * W + column: `agent_cells` [1], `monster_cells` [1], `item_cells` [3]; `triple` [3], places in `splits.LETTERS`, each beaten by the next; `dragon`, place in the triple of its letter; optional: `held` [1] (0 nothing, k + 1 item k), `agent_alive`, `monster_alive`, `step_limit`, `episode_length`. Item k beats letter k of the triple |
| metrics | `win_rate`, 1 for a win; `fights_right_item`, `fights_wrong_item`, `fights_no_item`, 1 for an end by a fight with that in hand |
| version history | v0: first version; rules replay the authors' engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from functools import cache

import numpy as np

from rl_envs.core.arguments import flags
from rl_envs.core.chance import pick
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import module_story
from rl_envs.rock_paper_scissors.splits import LETTERS, triples
from rl_envs.rtfm.arena import Arena, RoomTexts
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.settings import RoomSettings, StepRules

UNARMED = "unarmed"
GOAL = "dragon ."
DRAGONS, HELD_ITEMS = ([f"{letter} {rest}" for letter in LETTERS] for rest in ("dragon", f"; {UNARMED}"))
_SENTENCES, _WORDS = 3, 4
"""Sentences of a document, and words of a sentence, whose first word is the letter that beats the other one."""
_NEXT = np.array([1, 2, 0])


class RockPaperScissors(Arena):
    """B rooms with a dragon and three letters; the table above documents them."""

    story = module_story(__name__)

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        size: int = 10,
        setting: str = "permutation",
        split: str = "train",
        max_episode_steps: int = 1000,
        drop: str = "destroy",
        names_per_cell: int = 1,
        sight: float | None = None,
        tells_answer: bool = False,
    ) -> None:
        """Build B worlds; the table above documents the arguments, and ValueError names one that is out of range."""
        flags(tells_answer=tells_answer)
        self._games = triples(setting, split)
        super().__init__(
            num_worlds,
            first_world,
            RoomSettings(size, num_agents=1, num_targets=1, num_monsters=1, num_items=_SENTENCES),
            StepRules(True, True, max_episode_steps, drop),
            RoomTexts(lexicon(), _WORDS * _SENTENCES, len(GOAL.split())),
            names_per_cell=names_per_cell,
            sight=sight,
        )
        self._tells_answer = tells_answer
        if tells_answer:
            last = _WORDS * _SENTENCES - 1
            self.observation_spec["answer_word"] = ArraySpec(
                (), "uint8", 0, last, "index of the answer in the document"
            )
        self._letters, beat, stop = (lexicon().encode(text) for text in (" ".join(LETTERS), "beats", "."))
        self._sentence = np.array([0, *beat, 0, *stop], np.int16)
        self._goal = np.array([lexicon().encode(GOAL)])
        self._dragon_names = lexicon().name_ids(DRAGONS)
        self._item_names = lexicon().name_ids(list(LETTERS))
        self._carried_names = np.arange(len(lexicon().names), dtype=np.uint8)
        self._carried_names[self._item_names] = lexicon().name_ids(HELD_ITEMS)

    def _begin(self, rows: Array) -> None:
        uniforms = self.chance.uniforms(2 + len(self._grid.inside), rows)
        self.state["triple"][rows] = self._games[pick(uniforms[:, 0], len(self._games))]
        self.state["dragon"][rows] = uniforms[:, 1] * _SENTENCES
        self._place(rows, uniforms[:, 2:])
        self._derive(rows, frozenset())

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        """Names and texts follow from the triple and the dragon's index in it."""
        triple, dragon = self.state["triple"][rows], self.state["dragon"][rows]
        self.state["monster_names"][rows, 0] = self._dragon_names[np.take_along_axis(triple, dragon[:, None], 1)[:, 0]]
        self.state["item_names"][rows] = self._item_names[triple[:, _NEXT]]
        self.state["beaten_by"][rows, 0] = dragon + 1
        words = np.tile(self._sentence, (len(rows), _SENTENCES, 1))
        letters = np.array(self._letters, np.int16)
        words[:, :, 0], words[:, :, 2] = letters[triple[:, _NEXT]], letters[triple]
        self.state["document"][rows] = self.texts["document"].add(words.reshape(len(rows), -1))
        self.state["goal"][rows] = self.texts["goal"].add(self._goal)

    def _observe(self, rows: Array) -> Arrays:
        observations = super()._observe(rows)
        if self._tells_answer:
            # Sentence k names the letter that beats letter k of the triple.
            observations["answer_word"] = (_WORDS * self.state["dragon"][rows])[:, None].astype(np.uint8)
        return observations

    def _carried(self, held: Array, item_names: Array) -> Array:
        return self._carried_names[super()._carried(held, item_names)]

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {"triple": np.zeros((num_worlds, _SENTENCES), np.int64), "dragon": np.zeros(num_worlds, np.int64)}
        return super()._blank_state(num_worlds) | own

    def _needed_state(self) -> set[str]:
        return super()._needed_state() - {"monster_names", "item_names"} | {"triple", "dragon"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return super()._state_bounds() | {"triple": (0, len(LETTERS) - 1), "dragon": (0, _SENTENCES - 1)}

    def _check_state(self, state: Arrays) -> None:
        super()._check_state(state)
        if (state["triple"] == state["triple"][:, _NEXT]).any():
            raise ValueError(f"restore: triple must have three different letters, got {state['triple'].tolist()}")


@cache
def lexicon() -> Lexicon:
    """The words and names of this task, made once per process."""
    return Lexicon(DRAGONS, [*LETTERS, *HELD_ITEMS], ("beats .", GOAL), UNARMED)
