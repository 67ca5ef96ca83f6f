"""Reading by rules, without a language model: relevant paragraphs, answering sentences, lines of equal meaning.

Words are counted and compared.
"""

import functools
import re
from collections.abc import Sequence

from rl_models.planners.domain import Domain

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z0-9]+")
_SIGNS_OF = (
    ("can", "must", "each", "only", "when", "needs"),
    (),
    ("goal", "aim", "reward", "score", "win", "objective"),
    ("action", "move"),
)
"""Words that mark a sentence as an answer to each of the four questions about a game; empty: any object will do. A
domain adds its goal_verbs to the third and its action_verbs to the fourth."""
_MIN_OBJECTS = 2
_SAME = 0.8
_MAX_LINES = 40


def is_relevant(paragraph: str, objects: Sequence[str]) -> bool:
    """Whether a paragraph names at least two of the game's objects."""
    return sum(_names(paragraph, thing) for thing in objects) >= _MIN_OBJECTS


def facts(paragraph: str, question: int, domain: Domain) -> list[str]:
    """Sentences of a paragraph that answer a question."""
    signs = (*_SIGNS_OF[question], *((), (), domain.goal_verbs, domain.action_verbs)[question])
    return [
        sentence[:600]
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split()))
        if any(_names(sentence, thing) for thing in domain.objects)
        and (not signs or any(_names(sentence, s) for s in signs))
    ][:_MAX_LINES]


def summary(lines: Sequence[str], agents: Sequence[str]) -> list[str]:
    """Lines without duplicates in meaning; `agents` are their names, as for `normalised`."""
    kept: list[str] = []
    for line in lines:
        if all(likeness(line, other, agents) <= _SAME for other in kept):
            kept.append(line)
    return kept[:_MAX_LINES]


def objects(manual: str, known: Sequence[str]) -> list[str]:
    """Known objects that a manual names, in the order in which it does."""
    words = _plain(manual)
    return sorted((thing for thing in known if _names(manual, thing)), key=lambda thing: words.find(_plain(thing)))


def groups(texts: Sequence[str], agents: Sequence[str]) -> list[list[int]]:
    """Numbers, from 1, of texts that are equal except for small words and names of agents."""
    found: list[list[int]] = []
    for number, text in enumerate(texts, start=1):
        same = next((group for group in found if likeness(texts[group[0] - 1], text, agents) == 1.0), None)
        if same is None:
            found.append([number])
        else:
            same.append(number)
    return found


def likeness(one: str, other: str, agents: Sequence[str]) -> float:
    """Shared words over all words (Jaccard), without small words and names of agents."""
    left, right = (set(normalised(text, agents).split()) for text in (one, other))
    return len(left & right) / max(1, len(left | right))


def normalised(text: str, agents: Sequence[str]) -> str:
    """A text without capitals, signs, small words and names of agents (but for their numbers), for comparing."""
    left_out = _SMALL_WORDS.union(*map(_named, agents))
    return " ".join(word for word in _WORD.findall(text.lower()) if word not in left_out)


_SMALL_WORDS = frozenset({"a", "an", "the", "to", "of", "and", "is", "are", "it", "then", "one"})


@functools.cache
def _named(agent: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(agent.lower()) if not word.isdigit())


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _names(text: str, thing: str) -> bool:
    """Whether a text names a thing, in singular or plural."""
    words, name = _plain(text), _plain(thing).strip()
    return any(f" {name}{ending} " in words for ending in ("", "s", "es"))
