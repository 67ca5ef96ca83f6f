"""Documents and goals as rows of word ids, many at once.

RTFM, section 3: one statement for each element and team, each from a template, in random order. Templates are compiled
into codes (a word, or a slot of the statement), the words of every possible statement into tables, so that a document
is a few gathers and no string is touched after construction. This file must not know about grids or chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.rtfm import templates
from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, Assignments
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.words import ELEMENTS, TEAMS, NameSet

STATEMENTS = NUM_ELEMENTS + NUM_TEAMS
DOCUMENT_DRAWS = 2 * STATEMENTS
"""Uniforms of a document: a template and a place for each statement."""
_NAME_SLOTS = 3
_GROUP_SLOTS = max(len(team.split()) for team in TEAMS)
_SLOTS = _NAME_SLOTS + _GROUP_SLOTS
_UNTIL_SHUFFLED = np.arange(STATEMENTS) / STATEMENTS


class Scribe:
    """Writes the documents and goals of one kind of world.

    Attributes:
        document_length: tokens of the longest document that can occur; none is ever cut.
        goal_length: tokens of the longest goal.
    """

    def __init__(self, lexicon: Lexicon, names: NameSet, assignments: Assignments, is_natural: bool) -> None:
        """Compile templates and statements.

        Args:
            lexicon: gives the word ids.
            names: what monsters and modifiers are called.
            assignments: says how many share a team or an element.
            is_natural: many templates in random order, instead of one each in a fixed order.
        """
        self._lexicon = lexicon
        self._is_natural = is_natural
        beats, members, goals = (
            (templates.BEATS, templates.MEMBERS, templates.GOALS)
            if is_natural
            else ((templates.PLAIN_BEATS,), (templates.PLAIN_MEMBERS,), (templates.PLAIN_GOAL,))
        )
        elements, teams = assignments.elements.members, assignments.teams.members
        forms = [self._codes(form, elements.shape[2], 1) for form in beats]
        forms += [self._codes(form, teams.shape[2], _GROUP_SLOTS) for form in members]
        self._forms = lexicon.padded(forms)
        self._num_forms = np.repeat([len(beats), len(members)], [NUM_ELEMENTS, NUM_TEAMS])
        self._first_form = np.repeat([0, len(beats)], [NUM_ELEMENTS, NUM_TEAMS])
        self._element_words = self._statement_words(elements, names.modifiers, ELEMENTS)
        self._team_words = self._statement_words(teams, names.monsters, TEAMS)
        written = [[lexicon.encode(form.format(group=team)) for form in goals] for team in TEAMS]
        self._goals = lexicon.padded([goal for of_team in written for goal in of_team]).reshape(NUM_TEAMS, len(goals), -1)
        self.goal_length = self._goals.shape[2]
        self.document_length = self._longest(len(beats))

    def documents(self, team_ranks: Array, element_ranks: Array, uniforms: Array) -> Array:
        """One document for each assignment.

        Args:
            team_ranks: [K] ranks of the teams' partitions.
            element_ranks: [K] ranks of the elements' partitions.
            uniforms: [K, DOCUMENT_DRAWS].

        Returns:
            [K, document_length] int16 word ids, padded with 0.
        """
        slots = np.concatenate([self._element_words[element_ranks], self._team_words[team_ranks]], axis=1)
        form = self._first_form + (uniforms[:, :STATEMENTS] * self._num_forms).astype(np.int64)
        order = (uniforms[:, STATEMENTS:] if self._is_natural else np.tile(_UNTIL_SHUFFLED, (len(form), 1))).argsort(1)
        codes = self._forms[np.take_along_axis(form, order, 1)]
        first_slot = (np.arange(len(form))[:, None] * STATEMENTS + order) * _SLOTS
        from_slots = slots.reshape(-1)[first_slot[:, :, None] + np.maximum(-1 - codes, 0)]
        return _without_gaps(np.where(codes < 0, from_slots, codes).reshape(len(form), -1), self.document_length)

    def goals(self, teams: Array, uniforms: Array) -> Array:
        """One goal for each team.

        Args:
            teams: [K] places in `TEAMS`.
            uniforms: [K].

        Returns:
            [K, goal_length] int16 word ids, padded with 0.
        """
        return self._goals[teams, (uniforms * self._goals.shape[1]).astype(np.int64)]

    def _codes(self, form: str, num_names: int, num_group_words: int) -> list[int]:
        """A template's words; the statement's slot s is written as -1 - s."""
        codes: list[int] = []
        for word in form.split():
            if word == "{names}":
                comma = self._lexicon.encode(",")
                codes += [code for slot in range(num_names) for code in ([] if slot == 0 else comma) + [-1 - slot]]
            elif word == "{group}":
                codes += [-1 - _NAME_SLOTS - slot for slot in range(num_group_words)]
            else:
                codes += self._lexicon.encode(word)
        return codes

    def _statement_words(self, members: Array, names: Sequence[str], groups: Sequence[str]) -> Array:
        """[R, G, slots] int16, the words of every possible statement: names in alphabetical order, then the group."""
        alphabetical = np.argsort(np.argsort(np.array(names)))
        ordered = np.take_along_axis(members, alphabetical[members].argsort(2), 2)
        words = np.zeros((*members.shape[:2], _SLOTS), np.int16)
        name_words = np.array([self._lexicon.encode(name)[0] for name in names], np.int16)
        words[:, :, : members.shape[2]] = name_words[ordered]
        group_words = self._lexicon.padded([self._lexicon.encode(group) for group in groups])
        words[:, :, _NAME_SLOTS : _NAME_SLOTS + group_words.shape[1]] = group_words
        return words

    def _longest(self, num_beats: int) -> int:
        words = (self._forms != 0).sum(1)
        team_gaps = sum(_GROUP_SLOTS - len(team.split()) for team in TEAMS)
        return int(NUM_ELEMENTS * words[:num_beats].max() + NUM_TEAMS * words[num_beats:].max() - team_gaps)


def _without_gaps(words: Array, length: int) -> Array:
    """Rows with their zeros moved to the end, cut to `length` (which holds everything): [K, length]."""
    is_word = words != 0
    packed = np.zeros((len(words), length), words.dtype)
    packed[np.arange(length) < is_word.sum(1)[:, None]] = words[is_word]
    return packed
