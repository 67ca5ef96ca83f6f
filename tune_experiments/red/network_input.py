"""Description of MiniRTS for RED's network, and the observation that the network gets.

The 42 planes of the map are not stored: the network builds them from the lists and from one number per cell, its sight
and its terrain. A test compares its planes with the world's. Words and choices are those of `rl_envs/minirts`.
"""

from __future__ import annotations

import numpy as np
import torch

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.actions import CONTINUE, FLAGS
from rl_envs.minirts.factored import (
    C_ATTACK,
    C_BUILDING,
    C_GATHER,
    C_MOVE,
    C_UNIT,
    COMMANDS,
    MAX_LISTED,
)
from rl_envs.minirts.facts import VOCABULARY, text_tables
from rl_envs.minirts.observation import MONEY_BINS
from rl_envs.minirts.symbols import FOG, NUM_TYPES, PEASANT, RESOURCE, SIDE
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.policy import TeamPolicy
from rl_models.teams.commanded_team import commanded_team
from rl_models.unit_spec import Argument, UnitList, UnitSpec

GROUND = "ground"
_SIGHTS, _TERRAINS = 3, FOG + 1
_FIRST_SIGHT, _FIRST_TERRAIN = 2, 5
"""Planes of the world's map: two of places, then sight, then terrain."""
LISTS = ("own", "enemy", "resource")
KEYS = (
    *(f"num_{name}" for name in LISTS),
    *(f"{name}_{part}" for name in LISTS for part in ("type", "hp", "x", "y")),
    *(f"command_{part}" for part in ("type", "unit_type", "x", "y", "gather", "attack")),
    *("past_commands", "money_bin", "owned", "legal_command", "legal_unit_type", "legal_building_type"),
)
"""Observation keys of the world that the network reads unchanged."""

_GROUND_PLANES = tuple(
    tuple(int(one == sight) for one in range(_SIGHTS)) + tuple(int(one == terrain) for one in range(_TERRAINS))
    for sight in range(_SIGHTS)
    for terrain in range(_TERRAINS)
)
SPEC = UnitSpec(
    side=SIDE,
    length=MAX_LISTED,
    num_kinds=NUM_TYPES,
    commanded=UnitList("own", PEASANT, NUM_TYPES - 1),
    others=(
        UnitList("enemy", PEASANT, NUM_TYPES - 1, C_ATTACK, "attack"),
        UnitList("resource", RESOURCE, RESOURCE, C_GATHER, "gather"),
    ),
    ground=GROUND,
    ground_planes=_GROUND_PLANES,
    stock="money_bin",
    stock_size=MONEY_BINS,
    commands="command",
    num_commands=len(COMMANDS),
    legal_commands="legal_command",
    typed=(C_ATTACK, C_BUILDING, C_UNIT),
    placed=(C_BUILDING, C_MOVE),
    history="past_commands",
    arguments=(
        Argument("unit_type", (C_UNIT,), NUM_TYPES, "legal_unit_type"),
        Argument("building_type", (C_BUILDING,), NUM_TYPES, "legal_building_type"),
        Argument("building_cell", (C_BUILDING,)),
        Argument("move_cell", (C_MOVE,)),
    ),
    stop=CONTINUE,
    flags=FLAGS,
)


def ground_codes(planes: Array) -> Array:
    """Planes of maps [..., 42, 32, 32] -> [..., 32, 32] uint8, sight * 6 + terrain of each cell."""
    sight = planes[..., _FIRST_SIGHT:_FIRST_TERRAIN, :, :].argmax(-3)
    terrain = planes[..., _FIRST_TERRAIN : _FIRST_TERRAIN + _TERRAINS, :, :].argmax(-3)
    return (sight * _TERRAINS + terrain).astype(np.uint8)


def read_by_network(seen: Arrays) -> Arrays:
    """Part of the world's observations that the network reads, name -> [B, N, ...]; without instructions."""
    return {name: seen[name] for name in KEYS} | {GROUND: ground_codes(seen["map"])}


def red_team(config: CommandedUnitsConfig, num_agents: int, used_heads_only: bool, seed: int) -> TeamPolicy:
    """A team with its initial weights; the words are those of the 17 phrases and of the facts beside them."""
    phrases = torch.from_numpy(text_tables()["phrases"].astype(np.int64))
    return commanded_team(config, SPEC, phrases, len(VOCABULARY), num_agents, used_heads_only, seed)
