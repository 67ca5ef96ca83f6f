"""The numbered sentences of manuals, by split, entity, role and movement.

The format is that of the published corpus (MESSENGER, section 3): entity -> role -> movement -> sentences, one such
tree per split. The id of a sentence is its index in the order of split, entity, role and movement, so observations hold
small numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from rl_envs.core.chance import mix
from rl_envs.core.spec import Array
from rl_envs.messenger.symbols import ENTITIES, IMMOVABLE, MOVEMENTS, ROLES, UNKNOWN

Document: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]
"""Entity -> role -> movement -> sentences of one split."""

TEXT_SPLITS = ("train", "val", "test")
STILL = len(MOVEMENTS)
"""Kind of a sentence beside the movements: immovable or unknown, from which stage 1 draws."""
MAX_SENTENCE_CHARACTERS = 1000
"""Limit of a sentence's length, because all sentences are padded to the longest one."""
_WORDS = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")


class CorpusError(ValueError):
    """A corpus is not usable; the message names the key path."""


class Corpus:
    """Numbered sentences.

    Attributes:
        sentences: the text of every id.
        vocabulary: words and punctuation marks; the id of a word is its index. The first word is the padding.
        words: [D, L] int16 (int32 for more than 32,767 words), word ids of every sentence, padded with 0.
        id_dtype: the smallest type that holds an id.
        about: [D, 3] int64, entity, role and movement of every sentence.
    """

    def __init__(self, documents: Mapping[str, Document], max_per_cell: int | None = None) -> None:
        """Number the sentences of one document per text split, at most `max_per_cell` of each cell."""
        for split in TEXT_SPLITS:
            check_form(documents[split], split)
        _check_unique(documents)
        cells = [_thinned(cell, max_per_cell) for split in TEXT_SPLITS for _, cell in _cells(documents[split])]
        shape = (len(TEXT_SPLITS), len(ENTITIES), len(ROLES), len(MOVEMENTS))
        counts = np.array([len(cell) for cell in cells], np.int64)
        first = (counts.cumsum() - counts).reshape(shape)
        counts = counts.reshape(shape)
        self.sentences = tuple(sentence for cell in cells for sentence in cell)
        self.about = np.repeat(np.indices(shape)[1:].reshape(3, -1), counts.ravel(), axis=1).T
        self._first = np.concatenate([first, first[..., IMMOVABLE : IMMOVABLE + 1]], axis=-1)
        still = counts[..., IMMOVABLE] + counts[..., UNKNOWN]
        self._counts = np.concatenate([counts, still[..., None]], axis=-1)
        self.id_dtype = np.dtype(np.uint16 if len(self.sentences) <= 2**16 else np.int32)
        self.vocabulary, self.words = _numbered_words(self.sentences)

    def counts(self, split: str) -> Array:
        """Number of sentences of each kind, [entities, roles, movements and `STILL`] int64."""
        return self._counts[TEXT_SPLITS.index(split)]

    def pick(self, split: str, entities: Array, roles: Array, kinds: Array, uniforms: Array) -> Array:
        """Choose one sentence each, uniformly: ids [...] of `id_dtype`.

        Entities [...], roles [...] and kinds [...] (movements or `STILL`) are int, `uniforms` [...] in [0, 1). Raises
        CorpusError where no sentence exists for one of them.
        """
        place = (TEXT_SPLITS.index(split), entities, roles, kinds)
        counts = self._counts[place]
        if not counts.all():
            missing = np.argwhere(counts == 0)[0]
            entity, role, kind = (int(part[tuple(missing)]) for part in np.broadcast_arrays(entities, roles, kinds))
            raise CorpusError(
                f"no sentence under {key_path(split, entity, role, kind)}: such a game has no manual here"
            )
        return (self._first[place] + (uniforms * counts).astype(np.int64)).astype(self.id_dtype)

    def cell(self, split: str, entity: int, role: int, kind: int) -> range:
        """Ids of the sentences of one cell."""
        place = (TEXT_SPLITS.index(split), entity, role, kind)
        return range(self._first[place], self._first[place] + self._counts[place])


def check_form(document: object, split: str) -> None:
    """Require exactly the known entities, roles and movements, with lists of sentences; raises CorpusError."""
    for entity, roles in _children(document, ENTITIES, split):
        for role, movements in _children(roles, ROLES, f"{split} > {entity}"):
            for movement, cell in _children(movements, MOVEMENTS, f"{split} > {entity} > {role}"):
                path = f"{split} > {entity} > {role} > {movement}"
                if not isinstance(cell, list | tuple):
                    raise CorpusError(f"{path}: must be a list of sentences, an empty one for none")
                for number, sentence in enumerate(cell):
                    if not isinstance(sentence, str) or not sentence.strip():
                        raise CorpusError(f"{path}[{number}]: must be a sentence in quotes, got {str(sentence)[:40]!r}")
                    if len(sentence) > MAX_SENTENCE_CHARACTERS:
                        most = f"{MAX_SENTENCE_CHARACTERS:,} characters"
                        raise CorpusError(f"{path}[{number}]: has {len(sentence):,} of at most {most}: shorten it")


def split_words(sentence: str) -> list[str]:
    """Words and punctuation marks of a sentence, in lower case."""
    return _WORDS.findall(sentence.lower())


def _children(node: object, names: Sequence[str], path: str) -> list[tuple[str, object]]:
    if not isinstance(node, Mapping):
        raise CorpusError(f"{path}: must be an object with the keys {', '.join(names)}")
    for key in node:
        if key not in names:
            known = ", ".join(names)
            raise CorpusError(
                f"{path}: unknown key {str(key)[:80]!r}: remove it or correct its spelling; known are {known}"
            )
    for name in names:
        if name not in node:
            raise CorpusError(f"{path}: the key {name!r} is missing: add it, with empty lists if there is no sentence")
    return [(name, node[name]) for name in names]


def _cells(document: Document) -> Iterator[tuple[str, Sequence[str]]]:
    """Key path and sentences of every cell, in the order of the ids."""
    for entity in ENTITIES:
        for role in ROLES:
            for movement in MOVEMENTS:
                yield f"{entity} > {role} > {movement}", document[entity][role][movement]


def _check_unique(documents: Mapping[str, Document]) -> None:
    seen: dict[str, str] = {}
    for split in TEXT_SPLITS:
        for path, cell in _cells(documents[split]):
            for number, sentence in enumerate(cell):
                here = f"{split} > {path}[{number}]"
                if sentence in seen:
                    raise CorpusError(
                        f"{here}: the sentence {sentence[:60]!r} is also {seen[sentence]}: keep one of them"
                    )
                seen[sentence] = here


def _thinned(cell: Sequence[str], most: int | None) -> Sequence[str]:
    """At most `most` sentences, spread over the cell (to keep all templates) at hashed offsets (to keep all words)."""
    if most is None or len(cell) <= most:
        return cell
    places = mix(np.arange(most, dtype=np.uint64)) % np.uint64(len(cell) // most)
    return [cell[number * len(cell) // most + int(place)] for number, place in enumerate(places)]


def _numbered_words(sentences: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Vocabulary, and word ids [D, L] of the sentences."""
    texts = [split_words(sentence) for sentence in sentences]
    vocabulary = ("<pad>", *dict.fromkeys(word for text in texts for word in text))
    ids = {word: number for number, word in enumerate(vocabulary)}
    lengths = np.array([len(text) for text in texts])
    words = np.zeros((len(texts), int(lengths.max(initial=1))), np.int16 if len(ids) < 2**15 else np.int32)
    words[np.arange(words.shape[1]) < lengths[:, None]] = [ids[word] for text in texts for word in text]
    return vocabulary, words


def key_path(split: str, entity: int, role: int, kind: int) -> str:
    """Key path of the sentences of one kind."""
    movement = "immovable or unknown" if kind == STILL else MOVEMENTS[kind]
    return f"{split} > {ENTITIES[entity]} > {ROLES[role]} > {movement}"
