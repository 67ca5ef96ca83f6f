"""Reads a predicate: text to a tree, with bounds on everything. The grammar stands in the package's header.

This file must not know which features there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

LONGEST_TEXT = 400
MOST_TOKENS = 80
DEEPEST = 8
LARGEST_INTEGER = 9_999
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
KEYWORDS = frozenset({"and", "or", "not", "before", "change"})
_TOKEN = re.compile(r"\s*(==|!=|<=|>=|[<>()+,\-]|[a-z][a-z0-9_]*|[0-9]+)")


class PredicateError(ValueError):
    """A predicate cannot be read or used; the text is a clause that says why, fit for being shown to the model."""


@dataclass(frozen=True)
class Number:
    """An integer."""

    value: int


@dataclass(frozen=True)
class Feature:
    """A name of the world's table with its arguments."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """`or`, `and`, `not`, a comparison, `+`, `-`, `before` or `change`, of one or two parts."""

    operator: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = Number | Feature | Operation


def parse(text: str) -> Tree:
    """Read one predicate.

    Raises:
        PredicateError: too long, too deep, or not of the grammar; the clause says where.
    """
    if len(text) > LONGEST_TEXT:
        raise PredicateError(f"the predicate is longer than {LONGEST_TEXT} characters")
    reader = _Reader(_tokens(text))
    tree = reader.predicate(0)
    if reader.ahead:
        raise PredicateError(f"nothing may follow before {reader.ahead!r}")
    return tree


def _tokens(text: str) -> list[str]:
    tokens, at = list[str](), 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise PredicateError(f"the sign {text[at:].lstrip()[:1]!r} means nothing in a predicate")
        tokens.append(found[1])
        at = found.end()
    if len(tokens) > MOST_TOKENS:
        raise PredicateError(f"the predicate has more than {MOST_TOKENS} words and signs")
    return tokens


class _Reader:
    """Recursive descent; `depth` counts brackets and negations, the only ways down."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0

    @property
    def ahead(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def predicate(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise PredicateError(f"the predicate is nested more than {DEEPEST} deep")
        tree = self._conjunction(depth)
        while self._took("or"):
            tree = Operation("or", (tree, self._conjunction(depth)))
        return tree

    def _conjunction(self, depth: int) -> Tree:
        tree = self._negation(depth)
        while self._took("and"):
            tree = Operation("and", (tree, self._negation(depth)))
        return tree

    def _negation(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise PredicateError(f"the predicate is nested more than {DEEPEST} deep")
        if self._took("not"):
            return Operation("not", (self._negation(depth + 1),))
        left = self._sum(depth)
        for operator in COMPARISONS:
            if self._took(operator):
                return Operation(operator, (left, self._sum(depth)))
        return left

    def _sum(self, depth: int) -> Tree:
        tree = self._value(depth)
        while self.ahead in ("+", "-"):
            operator = self._next()
            tree = Operation(operator, (tree, self._value(depth)))
        return tree

    def _value(self, depth: int) -> Tree:
        token = self._next()
        if token == "(":
            return self._closed(self.predicate(depth + 1))
        if token.isdigit():
            return Number(_bounded(token))
        if token in ("before", "change"):
            self._want("(")
            return Operation(token, (_at_one_step(self._closed(self.predicate(depth + 1))),))
        if token in KEYWORDS or not token[:1].isalpha():
            raise PredicateError(f"a feature or a number is wanted instead of {token or 'the end'!r}")
        return Feature(token, self._arguments())

    def _arguments(self) -> tuple[str, ...]:
        if not self._took("("):
            return ()
        words = [self._word()]
        while self._took(","):
            words.append(self._word())
        self._want(")")
        return tuple(words)

    def _word(self) -> str:
        token = self._next()
        if not token[:1].isalnum() or token in KEYWORDS:
            raise PredicateError(f"a word is wanted instead of {token or 'the end'!r}")
        return token

    def _closed(self, tree: Tree) -> Tree:
        self._want(")")
        return tree

    def _took(self, token: str) -> bool:
        if self.ahead != token:
            return False
        self._at += 1
        return True

    def _want(self, token: str) -> None:
        if not self._took(token):
            raise PredicateError(f"{token!r} is wanted instead of {self.ahead or 'the end'!r}")

    def _next(self) -> str:
        token = self.ahead
        self._at += 1
        return token


def _at_one_step(tree: Tree) -> Tree:
    """Refuse a part that looks back by itself; in eight layers of `change` a test would look 256 times."""
    if isinstance(tree, Operation):
        if tree.operator in ("before", "change"):
            raise PredicateError("before and change cannot stand within each other: there is one earlier step")
        for part in tree.parts:
            _at_one_step(part)
    return tree


def _bounded(digits: str) -> int:
    if len(digits) > len(str(LARGEST_INTEGER)):
        raise PredicateError(f"a number is larger than {LARGEST_INTEGER}")
    return int(digits)
