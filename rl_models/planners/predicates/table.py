"""The table of features that a world offers to predicates, and predicates compiled against it.

A feature looks at two states of B worlds and gives a number for each agent, `[B, N]`. What a state is, only the world's
own functions know; this file hands states through.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rl_models.planners.predicates.grammar import Feature, Number, Operation, PredicateError, Tree, parse

Values: TypeAlias = NDArray[Any]
Test: TypeAlias = Callable[[Any, Any], Values]


@dataclass(frozen=True)
class OfferedFeature:
    """One row of a world's table.

    Attributes:
        meaning: the feature in a few words, shown to the writer of predicates.
        parameters: for each argument, the words it may be.
        values: (arguments, previous, current) -> [B, N] int or bool.
    """

    meaning: str
    parameters: tuple[tuple[str, ...], ...]
    values: Callable[[tuple[str, ...], Any, Any], Values]


FeatureTable: TypeAlias = Mapping[str, OfferedFeature]


@dataclass(frozen=True)
class Predicate:
    """A compiled test."""

    text: str
    test: Test

    def __call__(self, previous: Any, current: Any) -> Values:
        """Whether each agent of each world has just reached it: [B, N] bool."""
        return np.asarray(self.test(previous, current) != 0)


def compile_predicate(text: str, table: FeatureTable) -> Predicate:
    """Read a predicate and bind its features.

    Raises:
        PredicateError: not of the grammar, no feature at all, or one that the table does not hold.
    """
    tree = parse(text)
    if not _has_feature(tree):
        raise PredicateError("the predicate looks at nothing: name a feature")
    return Predicate(text, _compiled(tree, table))


def describe_table(table: FeatureTable) -> str:
    """The table in lines, for a prompt."""
    lines = []
    for name, feature in table.items():
        form = f"{name}({', '.join('|'.join(words) for words in feature.parameters)})" if feature.parameters else name
        lines.append(f"- {form}: {feature.meaning}")
    return "\n".join(lines)


def _has_feature(tree: Tree) -> bool:
    if isinstance(tree, Operation):
        return any(_has_feature(part) for part in tree.parts)
    return isinstance(tree, Feature)


def _compiled(tree: Tree, table: FeatureTable) -> Test:
    if isinstance(tree, Number):
        number = np.int64(tree.value)
        return lambda previous, current: np.asarray(number)
    if isinstance(tree, Feature):
        return _bound(tree, table)
    parts = [_compiled(part, table) for part in tree.parts]
    if tree.operator == "before":
        return lambda previous, current: parts[0](previous, previous)
    if tree.operator == "change":
        return lambda previous, current: parts[0](previous, current) - parts[0](previous, previous)
    operation = _OPERATIONS[tree.operator]
    return lambda previous, current: operation(*(part(previous, current) for part in parts))


def _bound(feature: Feature, table: FeatureTable) -> Test:
    offered = table.get(feature.name)
    if offered is None:
        raise PredicateError(f"there is no feature {feature.name[:40]}{_hint(feature.name, tuple(table))}")
    if len(feature.arguments) != len(offered.parameters):
        raise PredicateError(
            f"{feature.name} takes {len(offered.parameters)} arguments and is given {len(feature.arguments)}"
        )
    for word, allowed in zip(feature.arguments, offered.parameters, strict=True):
        if word not in allowed:
            raise PredicateError(f"{feature.name} knows no {word[:40]}{_hint(word, allowed)}")
    arguments, values = feature.arguments, offered.values
    return lambda previous, current: values(arguments, previous, current).astype(np.int64)


def _hint(word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f": did you mean {near[0]}?" if near else f": known are {', '.join(known)}"


def _as_number(function: Callable[..., Any]) -> Callable[..., Values]:
    return lambda *parts: np.asarray(function(*parts)).astype(np.int64)


_OPERATIONS: dict[str, Callable[..., Values]] = {
    "or": _as_number(lambda left, right: (left != 0) | (right != 0)),
    "and": _as_number(lambda left, right: (left != 0) & (right != 0)),
    "not": _as_number(lambda part: part == 0),
    "==": _as_number(np.equal),
    "!=": _as_number(np.not_equal),
    "<=": _as_number(np.less_equal),
    ">=": _as_number(np.greater_equal),
    "<": _as_number(np.less),
    ">": _as_number(np.greater),
    "+": np.add,
    "-": np.subtract,
}
