"""A project's functions and classes, retrieved by words, for translation and reward design (SAMA, section 3.1).

Source is parsed and never run. Ranking is BM25 (Robertson and Zaragoza, 2009) over the words of names and text, which
needs neither a network nor a model.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_K1, _B = 1.5, 0.75
_MAX_DOCUMENT = 2_000
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


@dataclass(frozen=True)
class Document:
    """Name (with its file) and source, cut at a length, of one function or class."""

    name: str
    text: str


def split_source(path: str, source: str) -> list[Document]:
    """Top-level functions and classes of a source, and the classes' methods; nothing if it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = [(node.name, node) for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    methods = [
        (f"{name}.{node.name}", node)
        for name, outer in nodes
        if isinstance(outer, ast.ClassDef)
        for node in outer.body
        if isinstance(node, ast.FunctionDef)
    ]
    return [
        Document(f"{path}: {name}", (ast.get_source_segment(source, node) or "")[:_MAX_DOCUMENT])
        for name, node in (*nodes, *methods)
    ]


class CodeIndex:
    """Documents and their words."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Count the words of all documents."""
        self._documents = list(documents)
        self._counts = [Counter(_words(f"{one.name} {one.text}")) for one in self._documents]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(self._lengths))
        self._holders = Counter(word for counts in self._counts for word in counts)

    @classmethod
    def from_folder(cls, folder: Path) -> CodeIndex:
        """Index every Python file below a folder, in the order of their paths."""
        files = sorted(folder.rglob("*.py"))
        return cls(
            document
            for file in files
            for document in split_source(file.relative_to(folder).as_posix(), file.read_text("utf-8", "replace"))
        )

    def search(self, query: str, count: int = 3) -> list[Document]:
        """The best matches, best first; only documents that share a word with the query."""
        words = set(_words(query))
        scores = [self._score(number, words) for number in range(len(self._documents))]
        ranked = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [self._documents[number] for number in ranked[:count] if scores[number] > 0]

    def _score(self, number: int, words: set[str]) -> float:
        counts = self._counts[number]
        longer = 1 - _B + _B * self._lengths[number] / max(1.0, self._mean)
        return sum(
            self._rarity(word) * counts[word] * (_K1 + 1) / (counts[word] + _K1 * longer)
            for word in sorted(words)
            if word in counts
        )

    def _rarity(self, word: str) -> float:
        holders = self._holders[word]
        return math.log(1 + (len(self._documents) - holders + 0.5) / (holders + 0.5))


def format_documents(documents: Sequence[Document]) -> str:
    """Documents for a prompt."""
    return "\n\n".join(f"# {one.name}\n{one.text}" for one in documents) or "none"


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
