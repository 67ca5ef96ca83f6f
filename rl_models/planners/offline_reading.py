"""Reading without a language model: which paragraphs matter, which sentences tell what, which lines say the same.

Deliberately plain: words are counted and compared. This file must not know a world.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z0-9]+")
_SIGNS_OF = (
    ("can", "must", "each", "only", "when", "needs"),
    (),
    ("goal", "aim", "reward", "score", "serve", "win", "objective", "deliver"),
    ("action", "move", "pick", "put", "take", "place", "interact", "carry", "bring"),
)
"""Words that mark a sentence as an answer to each of the four questions about a game; empty: any object will do."""
_FEWEST_OBJECTS = 2
_SAME = 0.8
_MOST_LINES = 40


def is_relevant(paragraph: str, objects: Sequence[str]) -> bool:
    """Whether a paragraph names at least two of the game's objects."""
    return sum(_names(paragraph, thing) for thing in objects) >= _FEWEST_OBJECTS


def facts(paragraph: str, question: int, objects: Sequence[str]) -> list[str]:
    """Sentences of a paragraph that answer a question."""
    signs = _SIGNS_OF[question]
    return [
        sentence[:600]
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split()))
        if any(_names(sentence, thing) for thing in objects) and (not signs or any(_names(sentence, s) for s in signs))
    ][:_MOST_LINES]


def summary(lines: Sequence[str]) -> list[str]:
    """Lines without those that say what an earlier one says."""
    kept: list[str] = []
    for line in lines:
        if all(likeness(line, other) <= _SAME for other in kept):
            kept.append(line)
    return kept[:_MOST_LINES]


def objects(manual: str, known: Sequence[str]) -> list[str]:
    """Known objects that a manual names, in the order in which it does."""
    words = _plain(manual)
    return sorted((thing for thing in known if _names(manual, thing)), key=lambda thing: words.find(_plain(thing)))


def groups(texts: Sequence[str]) -> list[list[int]]:
    """Numbers, from 1, of texts that say the same but for small words."""
    found: list[list[int]] = []
    for number, text in enumerate(texts, start=1):
        same = next((group for group in found if likeness(texts[group[0] - 1], text) == 1.0), None)
        if same is None:
            found.append([number])
        else:
            same.append(number)
    return found


def likeness(one: str, other: str) -> float:
    """Shared words over all words (Jaccard), small words aside."""
    left, right = _content_words(one), _content_words(other)
    return len(left & right) / max(1, len(left | right))


def normalised(text: str) -> str:
    """A text without capitals, signs and small words, for comparing."""
    return " ".join(word for word in _WORD.findall(text.lower()) if word not in _SMALL_WORDS)


_SMALL_WORDS = frozenset({"a", "an", "the", "to", "of", "and", "is", "are", "it", "then", "one", "chef"})


def _content_words(text: str) -> set[str]:
    return set(normalised(text).split())


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _names(text: str, thing: str) -> bool:
    """Whether a text names a thing, in singular or plural."""
    words, name = _plain(text), _plain(thing).strip()
    return any(f" {name}{ending} " in words for ending in ("", "s", "es"))
