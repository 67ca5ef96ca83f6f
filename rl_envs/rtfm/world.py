"""Read to Fight Monsters (RTFM, Zhong et al., ICLR 2020, section 3) for one agent, and for teams as in EnDi (2023, A.1).

The goal names a team of monsters; the document says who is in it, and which words of items beat which element. Each agent
must pick up an item that beats a monster of that team and walk into this monster; a wrong fight is lost. One further
monster and one further item are there to mislead whoever does not read.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, 1 to 3 of them |
| actions | 5: stay, up, down, left, right; a move into a wall does nothing |
| observation `grid` | [H, W, P] uint8, names of what is in each cell, highest first (agents, monsters, items); rows of `tables["name_words"]`. P = `names_per_cell`; with P = 1 an item under an agent or monster is hidden |
| observation `position` | [N, 2] uint8, row and column of the agents: agent i itself, then agents i + 1, i + 2, ... modulo N; (0, 0), a corner of the wall, for the dead |
| observation `legal` | [5] bool, moves that do not lead into a wall; stay always |
| observation `inventory` | [N] uint8, name of the item that each agent holds, in the order of `position`; rows of `tables["name_words"]` |
| observation `document` | row of the text table: [L] tokens, L = 33 (53 with `group`), with `nl` 60 (80); its length is the number of tokens that are not 0, and no document is ever cut |
| observation `goal` | row of the text table: [L] tokens, L = 6, with `nl` 11; its length is counted in the same way |
| tables | `name_words` [K, 2] int16, words of every name, padded with 0 (name 0 has none); `name_kinds` [K] uint8, 0 nothing, 1 wall, 2 agent, 3 monster, 4 item |
| words | ids into `vocabulary`; names, documents and goals share them, and all variants of this world have the same ids; 0 is the padding |
| rewards | per agent: +1 if it kills a target, -1 if it dies or kills the distractor, `team_loss` if another agent causes a loss, else -0.02; -1 for every agent at the limit |
| episode end | terminated: all targets are dead (a win if every agent and the distractor live), an agent or the distractor is dead, or `max_episode_steps` (1000) is reached, which is a loss; never truncated |
| arguments | `size` (6, walls included; 5 to 15), `num_agents` (1; to 3, each target having an element of its own), `group` (False; True: three monsters a team and two modifiers an element), `dyna` (False; True: monsters move, with probability 0.6 toward the nearest agent that they see, else at random), `nl` (False; True: texts from many templates in random order), `split` (train; or `eval`, which shares no assignment with it, or its parts `valid` and `test`), `names` (paper; or `new`, words that never occur in training), `distractor_monster` (True), `distractor_item` (True: one that beats the distractor), `resample_text` (episode; or `step`, with `nl`, as the authors do), `drop` (destroy: picking up an item destroys the held one, as the authors do; or `floor`), `team_loss` (None: the step's reward), `names_per_cell` (1), `sight` (None: the whole room; or a Euclidean distance in cells), `max_episode_steps` (1000) |
| recorded draws | `monster_moves` [B, M] int, 0 .. 4 or -1 for none; `monster_order` [B, M] and `agent_order` [B, N] int, ranks of the movers, gaps allowed, -1 for none |
| state for `restore` | cells as row * W + column: `agent_cells` [N], `monster_cells` [M] (targets, then the distractor), `item_cells` [I] (numbered like the monsters that they beat; 0 is gone); `monster_names`, `item_names` (`lexicon.name_ids`), `assignment` (`assignment_number`), `goal_team` (place in `words.TEAMS`); optional: `held` [N] (0 nothing, k + 1 item k), `agent_alive`, `monster_alive`, `step_limit`, `episode_length`; `document` and `goal` with their tables |
| metrics | `win_rate`, 1 for a win; `fights_right_item`, `fights_wrong_item`, `fights_no_item`, 1 for an end by a fight with that in hand (right beats a target; of several fighters the share) |
| version history | v0: first version; rules replay the authors' engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from functools import cache

import numpy as np

from rl_envs.core.arguments import flags, one_of, whole
from rl_envs.core.chance import pick
from rl_envs.core.spec import Array, Arrays
from rl_envs.core.world import module_story
from rl_envs.rtfm import templates
from rl_envs.rtfm.arena import Arena, RoomTexts
from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, SPLITS, assignments
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.settings import RoomSettings, StepRules
from rl_envs.rtfm.text import DOCUMENT_DRAWS, DocumentWriter
from rl_envs.rtfm.words import ELEMENTS, LEGEND, NAME_SETS, TEAMS, NameSet

MAX_AGENTS = 3
RESAMPLING = ("episode", "step")
_FIRST_TEXT_DRAW = 1 << 20
"""First random number of the texts, which have a range of their own, so that they can be written at any step."""


class Rtfm(Arena):
    """B rooms with monsters, and a document about them; the table above documents them."""

    story = module_story(__name__)
    legend = LEGEND

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        size: int = 6,
        num_agents: int = 1,
        group: bool = False,
        dyna: bool = False,
        nl: bool = False,
        split: str = "train",
        names: str = "paper",
        distractor_monster: bool = True,
        distractor_item: bool = True,
        resample_text: str = "episode",
        drop: str = "destroy",
        team_loss: float | None = None,
        names_per_cell: int = 1,
        sight: float | None = None,
        max_episode_steps: int = 1000,
    ) -> None:
        """Build B worlds; the table above documents the arguments, and ValueError names one that is out of range."""
        whole("num_agents", num_agents, 1, MAX_AGENTS)
        one_of(SPLITS, split=split)
        one_of(NAME_SETS, names=names)
        one_of(RESAMPLING, resample_text=resample_text)
        flags(group=group, dyna=dyna, nl=nl, distractor_monster=distractor_monster, distractor_item=distractor_item)
        self._split = split
        self._prepare_texts(NAME_SETS[names], group, nl, num_agents)
        items, monsters = num_agents + bool(distractor_item), num_agents + bool(distractor_monster)
        super().__init__(
            num_worlds,
            first_world,
            RoomSettings(size, num_agents, num_agents, monsters, items),
            StepRules(dyna, False, max_episode_steps, drop, team_loss, resample_text == "step" and nl),
            RoomTexts(lexicon(), self._writer.document_length, self._writer.goal_length),
            names_per_cell=names_per_cell,
            sight=sight,
        )

    def _prepare_texts(self, names: NameSet, group: bool, nl: bool, num_agents: int) -> None:
        """Tabulate assignments, sentences and names, and the sections of an episode's random numbers."""
        self._names = names
        self._assignments = assignments(group)
        self._writer = DocumentWriter(lexicon(), names, self._assignments, nl)
        self._monster_ids = _name_table(ELEMENTS, names.monsters)
        self._item_ids = _name_table(names.modifiers, names.nouns)
        self._team_size = self._assignments.teams.members.shape[2]
        places = num_agents + 1
        self._draws = np.cumsum([1, 2, self._team_size, 1, NUM_ELEMENTS, places, places])

    def assignment_number(self, team_of: Array, element_of: Array) -> Array:
        """Number of the assignment in which monsters and modifiers have these labels, for `restore`, [K] int64.

        Args:
            team_of: [K, 9] (3 without groups) place in `words.TEAMS` of each monster.
            element_of: [K, 8] (4 without groups) place in `words.ELEMENTS` of each modifier.
        """
        return self._assignments.number(team_of, element_of)

    def _begin(self, rows: Array) -> None:
        uniforms = self.chance.uniforms(int(self._draws[-1]) + len(self._grid.inside), rows)
        assigned, teams, members, other, elements, modifiers, nouns, cells = np.split(uniforms, self._draws, axis=1)
        assignment = self._assignments.draw(assigned[:, 0], self._split)
        team_ranks, element_ranks = self._assignments.ranks(assignment)
        goal = pick(teams[:, 0], NUM_TEAMS)
        monsters = self._monsters(team_ranks, goal, teams[:, 1], members, other[:, 0])
        chosen = elements.argsort(1)[:, : self.num_agents + 1]
        monster_names = self._monster_ids[chosen, monsters]
        beating = self._assignments.elements.members
        which = beating[element_ranks[:, None], chosen, pick(modifiers, beating.shape[2])]
        item_names = self._item_ids[which, pick(nouns, len(self._names.nouns))]
        self.state["assignment"][rows], self.state["goal_team"][rows] = assignment, goal
        self.state["monster_names"][rows] = monster_names[:, : self._num_monsters]
        self.state["item_names"][rows] = item_names[:, : self._num_items]
        self._place(rows, cells)
        self._write(rows)

    def _monsters(self, team_ranks: Array, goal: Array, uniforms: Array, members: Array, other: Array) -> Array:
        """[K, N + 1] int64: N monsters of the goal's team (different if it has N) and one of another team."""
        in_teams = self._assignments.teams.members[team_ranks]
        other_team = (goal + 1 + pick(uniforms, NUM_TEAMS - 1)) % NUM_TEAMS
        rows = np.arange(len(goal))
        drawn = members.argsort(1)[:, np.arange(self.num_agents) % self._team_size]
        targets = in_teams[rows[:, None], goal[:, None], drawn]
        distractor = in_teams[rows, other_team, pick(other, self._team_size)]
        return np.concatenate([targets, distractor[:, None]], axis=1)

    def _write(self, rows: Array) -> None:
        """Write new documents and goals in these worlds."""
        uniforms = self.chance.uniforms(DOCUMENT_DRAWS + 1, rows, _FIRST_TEXT_DRAW)
        ranks = self._assignments.ranks(self.state["assignment"][rows])
        documents = self._writer.documents(*ranks, uniforms[:, 1:])
        goals = self._writer.goals(self.state["goal_team"][rows], uniforms[:, 0])
        self.state["document"][rows] = self.texts["document"].add(documents)
        self.state["goal"][rows] = self.texts["goal"].add(goals)

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {"assignment": np.zeros(num_worlds, np.int64), "goal_team": np.zeros(num_worlds, np.int64)}
        return super()._blank_state(num_worlds) | own

    def _needed_state(self) -> set[str]:
        return super()._needed_state() | {"assignment", "goal_team"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        own = {"assignment": (0, self._assignments.count - 1), "goal_team": (0, NUM_TEAMS - 1)}
        return super()._state_bounds() | own

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        if not {"document", "goal"} <= given:
            self._write(rows)


@cache
def lexicon() -> Lexicon:
    """The words and names of all variants of RTFM, made once per process."""
    sets = NAME_SETS.values()
    monsters = [f"{element} {monster}" for names in sets for element in ELEMENTS for monster in names.monsters]
    items = [f"{modifier} {noun}" for names in sets for modifier in names.modifiers for noun in names.nouns]
    plain = (templates.PLAIN_BEATS, templates.PLAIN_MEMBERS, templates.PLAIN_GOAL)
    forms = (*plain, *templates.BEATS, *templates.MEMBERS, *templates.GOALS)
    return Lexicon(monsters, items, (form.format(names=",", group=" ".join(TEAMS)) for form in forms))


def _name_table(first: tuple[str, ...], second: tuple[str, ...]) -> Array:
    """[first, second] uint8, names of two words."""
    return lexicon().name_ids(np.array([[f"{one} {other}" for other in second] for one in first]))
