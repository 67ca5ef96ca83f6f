"""Read to Fight Monsters (RTFM, Zhong et al., ICLR 2020, section 3) for one agent, and for teams as in EnDi (2023, A.1).

A document says which modifiers beat which element and which monsters are in which team; the goal names a team. Agents
fetch the items whose modifiers beat the elements of that team's monsters and walk into those monsters with them. N
agents face N targets with N right items; a distractor monster and a distractor item invite those who do not read.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, 1 to 3 of them |
| actions | 5: stay, up, down, left, right; a move into a wall does nothing |
| observation `grid` | [H, W, P] uint8, names of what is in each cell, highest first (agents, monsters, items); rows of `tables["name_words"]`. P = `names_per_cell`; with P = 1 an item under somebody is not seen |
| observation `position` | [N, 2] uint8, row and column of the agents, oneself first, then agents i + 1, i + 2, ... modulo N; (0, 0), a corner of the wall, for the dead |
| observation `legal` | [5] bool, moves that do not lead into a wall; stay always |
| observation `inventory` | [N] uint8, name of the item that each agent holds, in the order of `position`; rows of `tables["name_words"]` |
| observation `document` | row of the text table: [L] tokens, L = 33 (53 with `group`), with `nl` 60 (80); its length is the number of tokens that are not 0, and no document is ever cut |
| observation `goal` | row of the text table: [L] tokens, L = 6, with `nl` 11; likewise |
| tables | `name_words` [K, 2] int16, words of every name, padded with 0 (name 0 has none); `name_kinds` [K] uint8, 0 nothing, 1 wall, 2 agent, 3 monster, 4 item |
| words | ids into `vocabulary`; names, documents and goals share them, and all variants of this world have the same ids; 0 is the padding |
| rewards | +1 for whoever kills a target, -1 for whoever dies or kills the distractor, each instead of the step's -0.02; -1 for all at the limit. Nothing is shared |
| episode end | terminated: all targets are dead (a win if every agent and the distractor live), an agent or the distractor is dead, or `max_episode_steps` (1000) is reached, which is a loss; never truncated |
| arguments | `size`, `num_agents`, `group`, `dyna`, `nl`, `split`, `names`, `distractor_monster`, `distractor_item`, `resample_text`, `drop`, `team_loss`, `names_per_cell`, `sight`, `max_episode_steps` |
| recorded draws | `monster_moves` [B, M] int, 0 .. 4 or -1 for none; `monster_order` [B, M] and `agent_order` [B, N] int, ranks of the movers, gaps allowed, -1 for none |
| state for `restore` | cells as row * W + column: `agent_cells` [N], `monster_cells` [M] (targets, then the distractor), `item_cells` [I] (numbered like the monsters that they beat; 0 is gone); `monster_names`, `item_names` (`lexicon.name_ids`), `assignment` (`assignment_number`), `goal_team` (place in `words.TEAMS`); optional: `held` [N] (0 nothing, k + 1 item k), `agent_alive`, `monster_alive`, `step_limit`, `episode_length`; `document` and `goal` with their tables |
| metrics | `win_rate`, 1 for a win |
| history | v0: first version; rules replay the authors' engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.rtfm import templates
from rl_envs.rtfm.arena import Arena
from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, SPLITS, assignments
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.text import DOCUMENT_DRAWS, DocumentWriter
from rl_envs.rtfm.words import ELEMENTS, NAME_SETS, TEAMS

MAX_AGENTS = 3
RESAMPLING = ("episode", "step")
_FIRST_TEXT_DRAW = 1 << 20
"""Texts have draws of their own, so that they can be written at any step."""


class Rtfm(Arena):
    """B rooms with monsters and a document about them; see the table above."""

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
        """Prepare the worlds.

        Args:
            num_worlds: B.
            first_world: number of the first world in the run.
            size: side of the room in cells, walls included: 6, 8 or 10 in the papers, 5 to 15 here.
            num_agents: N, 1 to 3: each needs a target with an element of its own, and the distractor has the fourth.
            group: three monsters a team and two modifiers an element, instead of one each.
            dyna: monsters move, with probability 0.6 toward the nearest agent that they see, else anywhere.
            nl: documents and goals from many templates in random order, instead of one form in a fixed order.
            split: `train` or `eval`; they share no assignment.
            names: `paper`, or `new` for words that training never shows.
            distractor_monster: whether there is a monster of another team.
            distractor_item: whether there is the item that beats it.
            resample_text: `episode` writes the texts once, `step` anew at every step (with `nl`), as the authors do.
            drop: `destroy` loses an item when another is picked up, as in the authors' engine; `floor` swaps them.
            team_loss: reward of the agents that did not cause a loss; the step's by default.
            names_per_cell: P, how many things that share a cell are seen.
            sight: agents see only cells within this Euclidean distance; all by default.
            max_episode_steps: joint steps until the game is lost.

        Raises:
            ValueError: an argument out of range.
        """
        _check(num_agents, split, names, resample_text)
        self._assignments = assignments(group)
        self._names = NAME_SETS[names]
        self._writer = DocumentWriter(lexicon(), self._names, self._assignments, nl)
        self._split, self._rewrites_texts = split, resample_text == "step" and nl
        super().__init__(
            num_worlds,
            first_world,
            size=size,
            num_agents=num_agents,
            num_targets=num_agents,
            num_monsters=num_agents + bool(distractor_monster),
            num_items=num_agents + bool(distractor_item),
            do_monsters_move=dyna,
            do_monsters_move_first=False,
            max_episode_steps=max_episode_steps,
            lexicon=lexicon(),
            document_length=self._writer.document_length,
            goal_length=self._writer.goal_length,
            drop=drop,
            team_loss=team_loss,
            names_per_cell=names_per_cell,
            sight=sight,
        )
        self._monster_ids = _name_table(ELEMENTS, self._names.monsters)
        self._item_ids = _name_table(self._names.modifiers, self._names.nouns)
        self._team_size = self._assignments.teams.members.shape[2]
        places = num_agents + 1
        self._draws = np.cumsum([1, 2, self._team_size, 1, NUM_ELEMENTS, places, places])

    def assignment_number(self, team_of: Array, element_of: Array) -> Array:
        """Number of the assignment in which monsters and modifiers have these labels, for `restore`.

        Args:
            team_of: [K, 9] (3 without groups) place in `words.TEAMS` of each monster.
            element_of: [K, 8] (4 without groups) place in `words.ELEMENTS` of each modifier.

        Returns:
            [K] int64.
        """
        return self._assignments.number(team_of, element_of)

    # ---------------------------------------------------------------- episodes

    def _begin(self, rows: Array) -> None:
        uniforms = self.chance.uniforms(int(self._draws[-1]) + len(self._grid.inside), rows)
        assigned, teams, members, other, elements, modifiers, nouns, cells = np.split(uniforms, self._draws, axis=1)
        assignment = self._assignments.draw(assigned[:, 0], self._split)
        team_ranks, element_ranks = self._assignments.ranks(assignment)
        goal = _pick(teams[:, 0], NUM_TEAMS)
        monsters = self._monsters(team_ranks, goal, teams[:, 1], members, other[:, 0])
        chosen = elements.argsort(1)[:, : self.num_agents + 1]
        monster_names = self._monster_ids[chosen, monsters]
        beating = self._assignments.elements.members
        which = beating[element_ranks[:, None], chosen, _pick(modifiers, beating.shape[2])]
        item_names = self._item_ids[which, _pick(nouns, len(self._names.nouns))]
        self.state["assignment"][rows], self.state["goal_team"][rows] = assignment, goal
        self.state["monster_names"][rows] = monster_names[:, : self._num_monsters]
        self.state["item_names"][rows] = item_names[:, : self._num_items]
        self._place(rows, cells)
        self._write(rows)

    def _monsters(self, team_ranks: Array, goal: Array, uniforms: Array, members: Array, other: Array) -> Array:
        """[K, N + 1] int64: N of the goal's team, different ones where it has so many, and one of another team."""
        in_teams = self._assignments.teams.members[team_ranks]
        other_team = (goal + 1 + _pick(uniforms, NUM_TEAMS - 1)) % NUM_TEAMS
        rows = np.arange(len(goal))
        drawn = members.argsort(1)[:, np.arange(self.num_agents) % self._team_size]
        targets = in_teams[rows[:, None], goal[:, None], drawn]
        distractor = in_teams[rows, other_team, _pick(other, self._team_size)]
        return np.concatenate([targets, distractor[:, None]], axis=1)

    def _write(self, rows: Array) -> None:
        """Write document and goal of these worlds anew."""
        uniforms = self.chance.uniforms(DOCUMENT_DRAWS + 1, rows, _FIRST_TEXT_DRAW)
        ranks = self._assignments.ranks(self.state["assignment"][rows])
        documents = self._writer.documents(*ranks, uniforms[:, 1:])
        goals = self._writer.goals(self.state["goal_team"][rows], uniforms[:, 0])
        self.state["document"][rows] = self.texts["document"].add(documents)
        self.state["goal"][rows] = self.texts["goal"].add(goals)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        results = super()._advance(actions, recorded)
        if self._rewrites_texts:
            self._write(self._rows)
        return results

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {"assignment": np.zeros(num_worlds, np.int64), "goal_team": np.zeros(num_worlds, np.int64)}
        return super()._blank_state(num_worlds) | own

    def _needed_state(self) -> set[str]:
        return super()._needed_state() | {"assignment", "goal_team"}

    def _state_bounds(self) -> dict[str, int]:
        return super()._state_bounds() | {"assignment": self._assignments.count, "goal_team": NUM_TEAMS}

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        if not {"document", "goal"} <= given:
            self._write(rows)


@cache
def lexicon() -> Lexicon:
    """The words and names of every variant of RTFM, made once a process."""
    sets = NAME_SETS.values()
    monsters = [f"{element} {monster}" for names in sets for element in ELEMENTS for monster in names.monsters]
    items = [f"{modifier} {noun}" for names in sets for modifier in names.modifiers for noun in names.nouns]
    plain = (templates.PLAIN_BEATS, templates.PLAIN_MEMBERS, templates.PLAIN_GOAL)
    forms = (*plain, *templates.BEATS, *templates.MEMBERS, *templates.GOALS)
    return Lexicon(monsters, items, (form.format(names=",", group=" ".join(TEAMS)) for form in forms))


def _name_table(first: tuple[str, ...], second: tuple[str, ...]) -> Array:
    """[first, second] uint8, names of two words."""
    return lexicon().name_ids(np.array([[f"{one} {other}" for other in second] for one in first]))


def _pick(uniforms: Array, count: int) -> Array:
    """Numbers 0 .. count - 1, same shape int64."""
    return (uniforms * count).astype(np.int64)


def _check(num_agents: int, split: str, names: str, resample_text: str) -> None:
    if not 1 <= num_agents <= MAX_AGENTS:
        raise ValueError(f"num_agents must be 1 to {MAX_AGENTS}, got {num_agents}")
    choices = {"split": (split, SPLITS), "names": (names, NAME_SETS), "resample_text": (resample_text, RESAMPLING)}
    for argument, (given, known) in choices.items():
        if given not in known:
            raise ValueError(f"{argument} must be one of {', '.join(known)}, got {given!r}")
