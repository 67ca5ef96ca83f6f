"""MiniRTS as the planner's game."""

from __future__ import annotations

import functools
from pathlib import Path

import rl_envs.minirts
from rl_models.planners.code_index import CodeIndex
from tune_experiments.sama.minirts.domain import RtsDomain
from tune_experiments.sama.planned_game import PlannedGame


@functools.cache
def game_of(num_agents: int) -> PlannedGame:
    """The game of so many agents."""
    domain = RtsDomain(num_agents)
    return PlannedGame("MiniRTS", domain, domain.map, game_code)


@functools.cache
def game_code() -> CodeIndex:
    """The game's source, to be looked up by words."""
    return CodeIndex.of_folder(Path(rl_envs.minirts.__file__).parent)
