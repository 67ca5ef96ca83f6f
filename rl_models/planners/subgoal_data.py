"""Data for fine-tuning: states with the sub-goals planned for them (SAMA, section 3.3)."""

from collections.abc import Iterable
from typing import TypeAlias

from rl_models.planners.domain import SubgoalTexts

Pair: TypeAlias = tuple[str, SubgoalTexts]
"""A state, and the sub-goal of each agent."""


class SubgoalData:
    """Distinct pairs in order of arrival, up to a capacity; the oldest are dropped."""

    def __init__(self, max_pairs: int = 10_000) -> None:
        self._max_pairs = max_pairs
        self._pairs: dict[Pair, None] = {}

    def add(self, pairs: Iterable[Pair]) -> None:
        """Add pairs; duplicates keep their position."""
        for pair in pairs:
            self._pairs.setdefault(pair)
        while len(self._pairs) > self._max_pairs:
            del self._pairs[next(iter(self._pairs))]

    def take_out(self) -> list[Pair]:
        """Remove and return all pairs, the oldest first."""
        pairs = list(self._pairs)
        self._pairs.clear()
        return pairs
