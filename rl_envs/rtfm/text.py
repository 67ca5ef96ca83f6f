"""Documents and goals as rows of word ids, many at once.

RTFM, section 3: one statement for each element and team, each from a template, in random order. Every statement that
can occur is written once, when a writer is made (a few thousand with groups and natural language); a document is then a
gather of statements, and no string is touched. This file must not know about grids or chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.rtfm import templates
from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, Assignments
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.words import ELEMENTS, TEAMS, NameSet

STATEMENTS = NUM_ELEMENTS + NUM_TEAMS
DOCUMENT_DRAWS = 2 * STATEMENTS
"""Uniforms of a document: a template and a place for each statement."""


class DocumentWriter:
    """Writes the documents and goals of one kind of world.

    Attributes:
        document_length: tokens of the longest document that can occur; none is ever cut.
        goal_length: tokens of the longest goal.
    """

    def __init__(self, lexicon: Lexicon, names: NameSet, assignments: Assignments, is_natural: bool) -> None:
        """Write all statements and goals.

        Args:
            lexicon: gives the word ids.
            names: what monsters and modifiers are called.
            assignments: says who share a team or an element.
            is_natural: many templates in random order, instead of one each in a fixed order.
        """
        beats, members, goals = (
            (templates.BEATS, templates.MEMBERS, templates.GOALS)
            if is_natural
            else ((templates.PLAIN_BEATS,), (templates.PLAIN_MEMBERS,), (templates.PLAIN_GOAL,))
        )
        of_elements = _statements(beats, names.modifiers, ELEMENTS, assignments.elements.members)
        of_teams = _statements(members, names.monsters, TEAMS, assignments.teams.members)
        self._statements = lexicon.padded([lexicon.encode(text) for text in of_elements.texts + of_teams.texts])
        self._first_of_element = of_elements.first
        self._first_of_team = of_teams.first + len(of_elements.texts)
        self._num_forms = np.repeat([len(beats), len(members)], [NUM_ELEMENTS, NUM_TEAMS])
        self._goals = lexicon.padded([lexicon.encode(form.format(group=team)) for team in TEAMS for form in goals])
        self._num_goals = len(goals)
        self.document_length = of_elements.longest + of_teams.longest
        self.goal_length = self._goals.shape[1]
        self._halves = None if is_natural else (self._joined(self._first_of_element), self._joined(self._first_of_team))

    def documents(self, team_ranks: Array, element_ranks: Array, uniforms: Array) -> Array:
        """One document for each assignment.

        Args:
            team_ranks: [K] ranks of the teams' partitions.
            element_ranks: [K] ranks of the elements' partitions.
            uniforms: [K, DOCUMENT_DRAWS].

        Returns:
            [K, document_length] int16 word ids, padded with 0.
        """
        if self._halves is not None:
            return np.concatenate([self._halves[0][element_ranks], self._halves[1][team_ranks]], axis=1)
        chosen = np.concatenate([self._first_of_element[element_ranks], self._first_of_team[team_ranks]], axis=1)
        chosen += (uniforms[:, :STATEMENTS] * self._num_forms).astype(np.int64)
        order = uniforms[:, STATEMENTS:].argsort(1)
        documents = np.zeros((len(chosen), self.document_length), np.int16)
        joined = self._joined(chosen[np.arange(len(chosen))[:, None], order])
        documents[:, : joined.shape[1]] = joined
        return documents

    def goals(self, teams: Array, uniforms: Array) -> Array:
        """One goal for each team.

        Args:
            teams: [K] places in `TEAMS`.
            uniforms: [K].

        Returns:
            [K, goal_length] int16 word ids, padded with 0.
        """
        return self._goals[teams * self._num_goals + (uniforms * self._num_goals).astype(np.int64)]

    def _joined(self, numbers: Array) -> Array:
        """Statements [K, S] one after another without gaps, [K, longest] int16."""
        words = self._statements[numbers].reshape(len(numbers), -1)
        is_word = words != 0
        lengths = is_word.sum(1)
        joined = np.zeros((len(words), int(lengths.max())), np.int16)
        joined[np.arange(joined.shape[1]) < lengths[:, None]] = words[is_word]
        return joined


@dataclass(frozen=True)
class _Statements:
    """All statements about some groups.

    Attributes:
        texts: the forms of a statement one after another.
        first: [R, G] int64, place in `texts` of the first form, by partition and group.
        longest: words of the longest statements about all groups together.
    """

    texts: list[str]
    first: Array
    longest: int


def _statements(forms: Sequence[str], names: Sequence[str], groups: Sequence[str], members: Array) -> _Statements:
    """Write down who can be in which group, names in alphabetical order.

    Args:
        forms: templates.
        names: of the members.
        groups: names of the G groups.
        members: [R, G, share] who is in each group, by partition.
    """
    crowds, which = np.unique(members.reshape(-1, members.shape[2]), axis=0, return_inverse=True)
    lists = [" , ".join(sorted(names[member] for member in crowd)) for crowd in crowds]
    texts = [form.format(names=listed, group=group) for listed in lists for group in groups for form in forms]
    first = (which.reshape(members.shape[:2]) * len(groups) + np.arange(len(groups))) * len(forms)
    lengths = np.array([len(text.split()) for text in texts]).reshape(len(lists), len(groups), -1)
    return _Statements(texts, first, int(lengths.max((0, 2)).sum()))
