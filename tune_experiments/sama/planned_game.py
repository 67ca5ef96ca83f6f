"""Description of a game for the planner: its domain, its name, what its map is, and its source to look up words in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rl_models.planners.code_index import CodeIndex
from rl_models.planners.domain import Domain


@dataclass(frozen=True)
class PlannedGame:
    """One game under the planner.

    Attributes:
        name: as people call it, for questions about papers.
        domain: words and rules.
        map: what stands below a manual that was written from a paper.
        code: the game's source.
    """

    name: str
    domain: Domain
    map: str
    code: Callable[[], CodeIndex]
