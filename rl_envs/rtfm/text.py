"""Documents and goals as rows of word ids, for many worlds at once.

RTFM, section 3: one sentence for each element and team, each from a template, in random order. A `DocumentWriter`
encodes every possible sentence once (a few thousand with groups and natural language). A document is then a gather of
rows, without strings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.rtfm import templates
from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, Assignments
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.words import ELEMENTS, TEAMS, NameSet

SENTENCES = NUM_ELEMENTS + NUM_TEAMS
DOCUMENT_DRAWS = 2 * SENTENCES
"""Uniforms of a document: one for the template and one for the position of each sentence."""


class DocumentWriter:
    """Writes the documents and goals of one kind of world."""

    def __init__(self, lexicon: Lexicon, names: NameSet, assignments: Assignments, is_natural: bool) -> None:
        """Encode all sentences and goals of the assignments.

        Natural texts use many templates in random order, plain ones a single template in a fixed order.
        """
        beats, members, goals = (
            (templates.BEATS, templates.MEMBERS, templates.GOALS)
            if is_natural
            else ((templates.PLAIN_BEATS,), (templates.PLAIN_MEMBERS,), (templates.PLAIN_GOAL,))
        )
        of_elements = _sentences(beats, names.modifiers, ELEMENTS, assignments.elements.members)
        of_teams = _sentences(members, names.monsters, TEAMS, assignments.teams.members)
        self._sentences = lexicon.padded([lexicon.encode(text) for text in of_elements.texts + of_teams.texts])
        self._first_of_element = of_elements.first
        self._first_of_team = of_teams.first + len(of_elements.texts)
        self._num_forms = np.repeat([len(beats), len(members)], [NUM_ELEMENTS, NUM_TEAMS])
        self._goals = lexicon.padded([lexicon.encode(form.format(group=team)) for team in TEAMS for form in goals])
        self._num_goals = len(goals)
        # L, tokens of the longest possible document; no document is cut
        self.document_length = of_elements.longest + of_teams.longest
        self.goal_length = self._goals.shape[1]  # L, tokens of the longest goal
        self._halves = None if is_natural else (self._joined(self._first_of_element), self._joined(self._first_of_team))

    def documents(self, team_ranks: Array, element_ranks: Array, uniforms: Array) -> Array:
        """One document [K, document_length] int16 word ids, padded with 0, for each assignment.

        By the ranks of its teams' partition [K] and its elements' partition [K], and `uniforms` [K, DOCUMENT_DRAWS].
        """
        if self._halves is not None:
            return np.concatenate([self._halves[0][element_ranks], self._halves[1][team_ranks]], axis=1)
        chosen = np.concatenate([self._first_of_element[element_ranks], self._first_of_team[team_ranks]], axis=1)
        chosen += (uniforms[:, :SENTENCES] * self._num_forms).astype(np.int64)
        order = uniforms[:, SENTENCES:].argsort(1)
        documents = np.zeros((len(chosen), self.document_length), np.int16)
        joined = self._joined(chosen[np.arange(len(chosen))[:, None], order])
        documents[:, : joined.shape[1]] = joined
        return documents

    def goals(self, teams: Array, uniforms: Array) -> Array:
        """One goal for each team [K] (indices into `TEAMS`), [K, goal_length] int16 word ids, padded with 0.

        `uniforms` [K] in [0, 1) choose its form.
        """
        return self._goals[teams * self._num_goals + (uniforms * self._num_goals).astype(np.int64)]

    def _joined(self, numbers: Array) -> Array:
        """Concatenate sentences [K, S] without gaps, [K, longest] int16."""
        words = self._sentences[numbers].reshape(len(numbers), -1)
        is_word = words != 0
        lengths = is_word.sum(1)
        joined = np.zeros((len(words), int(lengths.max())), np.int16)
        joined[np.arange(joined.shape[1]) < lengths[:, None]] = words[is_word]
        return joined


@dataclass(frozen=True)
class _Sentences:
    """All sentences about some groups: their forms, and `first` [R, G], the row of each group's first form."""

    texts: list[str]
    first: Array
    longest: int


def _sentences(forms: Sequence[str], names: Sequence[str], groups: Sequence[str], members: Array) -> _Sentences:
    """Write all sentences about the members of groups, with names in alphabetical order."""
    crowds, which = np.unique(members.reshape(-1, members.shape[2]), axis=0, return_inverse=True)
    lists = [" , ".join(sorted(names[member] for member in crowd)) for crowd in crowds]
    texts = [form.format(names=listed, group=group) for listed in lists for group in groups for form in forms]
    first = (which.reshape(members.shape[:2]) * len(groups) + np.arange(len(groups))) * len(forms)
    lengths = np.array([len(text.split()) for text in texts]).reshape(len(lists), len(groups), -1)
    return _Sentences(texts, first, int(lengths.max((0, 2)).sum()))
