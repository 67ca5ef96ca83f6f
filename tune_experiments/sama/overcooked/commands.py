"""The commands that chefs of a kitchen know, in words and as numbers.

The sub-goals come first, in the domain's order, then the sentence for a chef whose sub-goal is reached, then the
manual's sentences, which are never commands.
"""

from __future__ import annotations

import functools
from pathlib import Path

import rl_envs.overcooked
from rl_models.planners.code_index import CodeIndex
from tune_experiments.sama.overcooked.domain import KitchenDomain
from tune_experiments.sama.planner_config import PlannedGame

DONE = "your task is done: keep out of the other chef's way"


@functools.cache
def domain_of(layout: str) -> KitchenDomain:
    """The planner's domain of a named kitchen."""
    return KitchenDomain(layout)


def make_game(layout: str) -> PlannedGame:
    """A named kitchen as the planner's game."""
    domain = domain_of(layout)
    return PlannedGame("Overcooked", domain, domain.map, game_code)


def command_texts(layout: str) -> tuple[str, ...]:
    """All commands, by number; the last one is `DONE`."""
    return (*domain_of(layout).subgoals, DONE)


def manual_sentences(manual: str) -> tuple[str, ...]:
    """Sentences about the game that the policy reads: the lines of the manual."""
    return tuple(line.strip() for line in manual.splitlines() if line.strip())


@functools.cache
def game_code() -> CodeIndex:
    """The game's source, to be looked up by words."""
    return CodeIndex.of_folder(Path(rl_envs.overcooked.__file__).parent)
