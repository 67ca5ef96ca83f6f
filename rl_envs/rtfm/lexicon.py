"""Ids of words and names, which observations hold instead of strings.

A lexicon has a vocabulary (word -> id, 0 is padding) and a table of names, the texts that can be in a cell or an
inventory.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from rl_envs.core.spec import Array

NOWHERE, EMPTY, WALL, YOU, AGENT, EMPTY_HANDED, FOG = range(7)
"""Names that every lexicon begins with."""
NO_KIND, KIND_WALL, KIND_AGENT, KIND_MONSTER, KIND_ITEM = range(5)
"""Kinds of names."""

_FIRST_KINDS = (NO_KIND, NO_KIND, KIND_WALL, KIND_AGENT, KIND_AGENT, NO_KIND, NO_KIND)


class Lexicon:
    """Words and names of one family of worlds; grids, documents and goals share the words."""

    def __init__(
        self, monsters: Iterable[str], items: Iterable[str], sentences: Iterable[str], empty_handed: str = "nothing"
    ) -> None:
        """Number every word of these texts in the order of first use.

        Items lie on the floor or are in inventories; `empty_handed` is the name of an empty inventory.
        """
        monsters, items = tuple(monsters), tuple(items)
        # K names; each is a string of words
        self.names = ("", "empty", "wall", "you", "agent", empty_handed, "fog", *monsters, *items)
        written = " ".join((*self.names, *sentences)).split()
        # V words; the id of a word is its index. The first word is the padding
        self.vocabulary = ("<pad>", *dict.fromkeys(written))
        self._word_ids = {word: number for number, word in enumerate(self.vocabulary)}
        self._name_ids = {name: number for number, name in enumerate(self.names)}
        # [K, W] int16, word ids of the names, padded with 0; name 0 has no words
        self.name_words = self.padded([self.encode(name) for name in self.names])
        kinds = _FIRST_KINDS + (KIND_MONSTER,) * len(monsters) + (KIND_ITEM,) * len(items)
        self.name_kinds = np.array(kinds, np.uint8)  # [K] uint8, kinds of the names

    def encode(self, text: str) -> list[int]:
        """Word ids of a text whose words are separated by blanks."""
        return [self._word_ids[word] for word in text.split()]

    def decode(self, words: Iterable[int]) -> str:
        """The text of word ids, without padding."""
        return " ".join(self.vocabulary[word] for word in words if word)

    def name_id(self, name: str) -> int:
        """Row of a name."""
        if name not in self._name_ids:
            raise ValueError(f"nothing here is called {name!r}; names look like {self.names[7]!r}, {self.names[-1]!r}")
        return self._name_ids[name]

    def name_ids(self, names: Sequence[str] | Array) -> Array:
        """Rows of names [...], [...] uint8."""
        array = np.asarray(names)
        return np.array([self.name_id(str(name)) for name in array.ravel()], np.uint8).reshape(array.shape)

    @staticmethod
    def padded(texts: Sequence[Sequence[int]]) -> Array:
        """Texts as rows of one table, [D, L] int16, padded with 0; L is the longest text."""
        table = np.zeros((len(texts), max(map(len, texts))), np.int16)
        for row, text in zip(table, texts, strict=True):
            row[: len(text)] = text
        return table
