"""States with the sub-goals that were planned for them: what policies are trained and fine-tuned on (SAMA, 3.3).

A bounded set without doubles, saved as JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from rl_models.planners.domain import SubgoalTexts

Pair: TypeAlias = tuple[str, SubgoalTexts]
"""A state, and for each agent its sub-goal."""


class SubgoalDataError(ValueError):
    """A file holds no pairs; the sentence says which and how to mend it."""


class SubgoalData:
    """Pairs in the order in which they came, the newest kept."""

    def __init__(self, max_pairs: int = 10_000) -> None:
        """Keep so many at most; the oldest go first."""
        self._most = max_pairs
        self._pairs: dict[Pair, None] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def pairs(self) -> list[Pair]:
        """All pairs, the oldest first."""
        return list(self._pairs)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Add pairs; those that are there already stay where they are."""
        for pair in pairs:
            self._pairs.setdefault(pair)
        while len(self._pairs) > self._most:
            del self._pairs[next(iter(self._pairs))]

    def take_out(self) -> list[Pair]:
        """Remove and return all pairs: one portion for fine-tuning."""
        pairs = self.pairs
        self._pairs.clear()
        return pairs

    def save(self, path: Path) -> None:
        """Write a file whole: one pair a line."""
        lines = [json.dumps({"state": state, "subgoals": list(commands)}) for state, commands in self._pairs]
        unfinished = path.with_name(f"{path.name}.tmp")
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        unfinished.replace(path)

    @classmethod
    def load(cls, path: Path, max_pairs: int = 10_000) -> SubgoalData:
        """Read what `save` wrote.

        Raises:
            SubgoalDataError: the file is missing or of another form.
        """
        data = cls(max_pairs)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            data.add(_read(line) for line in lines)
        except OSError as error:
            raise SubgoalDataError(f"{path} cannot be read ({error.strerror}): check the path") from None
        except (ValueError, RecursionError):
            raise SubgoalDataError(f"{path} is not a file of states with sub-goals: write it again") from None
        return data


def _read(line: str) -> Pair:
    document = json.loads(line)
    if not isinstance(document, dict) or not isinstance(document.get("state"), str):
        raise ValueError
    commands = document.get("subgoals")
    if not isinstance(commands, list) or not all(isinstance(text, str) for text in commands):
        raise ValueError
    return document["state"], tuple(commands)
