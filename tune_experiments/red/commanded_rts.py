"""MiniRTS with a commander: each agent observes its last five instructions and the network's keys.

A commander may speak at every decision; a command that differs from its last one, also silence, is a new instruction.
Ages count in units of five decisions, up to ten (reference sheet of MiniRTS, section 1.8). State beyond the game's:
`instructions` [N, 5], rows of `tables["phrases"]`, newest first, and `instructed_at` [N, 5], the decisions at which
each was given. The network builds the map's 42 planes from the lists and from one number per cell, its sight and
terrain.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.minirts.actions import CONTINUE, FLAGS
from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_GATHER, C_MOVE, C_UNIT, COMMANDS, MAX_LISTED
from rl_envs.minirts.facts import VOCABULARY, text_tables
from rl_envs.minirts.observation import MONEY_BINS
from rl_envs.minirts.phrases import PHRASES
from rl_envs.minirts.symbols import FOG, NUM_TYPES, PEASANT, RESOURCE, SIDE
from rl_envs.minirts.world import MiniRts
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.policy import TeamPolicy
from rl_models.teams.commanded_team import commanded_team
from rl_models.unit_spec import AGES, ROWS, Argument, UnitList, UnitSpec
from tune_experiments.red.commanders import COMMANDERS, say

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
    """The part of observations [B, N, ...] that the network reads, name -> [B, N, ...]; without instructions."""
    return {name: seen[name] for name in KEYS} | {GROUND: ground_codes(seen["map"])}


def red_team(config: CommandedUnitsConfig, num_agents: int, used_heads_only: bool, seed: int) -> TeamPolicy:
    """A team with its initial weights; the words are those of the 17 phrases and of the facts beside them."""
    phrases = torch.from_numpy(text_tables()["phrases"].astype(np.int64))
    return commanded_team(config, SPEC, phrases, len(VOCABULARY), num_agents, used_heads_only, seed)


HEARD = 5
"""Number of instructions that an agent observes."""
NARRATED = "narrated"
"""An external commander: instructions come from `tell`."""
_AGE, _OLDEST = 5, 10
_FIRST_DRAW = 1_000
"""Number of the commander's first random draw; the world's draws have smaller numbers."""
TEXTS = ("", *PHRASES)


class CommandedRts(MiniRts):
    """B games of MiniRTS whose agents observe instructions."""

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, commander: str = "none", share: float = 1.0, **game: Any
    ) -> None:
        """Prepare the worlds, with one of `COMMANDERS` or `NARRATED`, else raise ValueError.

        `share` is the share of decisions at which the commander `random` speaks; `game` are arguments of `MiniRts`.
        """
        if commander not in (*COMMANDERS, NARRATED):
            raise ValueError(f"commander must be one of {', '.join(COMMANDERS)}, got {commander!r}")
        self.commander, self._share = commander, share
        super().__init__(num_worlds, first_world, **game)
        own = {
            GROUND: ArraySpec((SIDE, SIDE), "uint8", 0, 17, "sight * 6 + terrain"),
            ROWS: ArraySpec((HEARD,), "uint8", 0, len(PHRASES), "rows of the table of phrases, newest first"),
            AGES: ArraySpec((HEARD,), "uint8", 0, _OLDEST, "units of five decisions since each was given"),
        }
        self.observation_spec = {name: self.observation_spec[name] for name in KEYS} | own
        self.text_tables = {ROWS: "phrases"}

    def tell(self, world: int, agent: int, phrase: str, decision: int | None = None) -> None:
        """Give an agent an instruction, one of `PHRASES` or "", unless it is its latest one.

        By default it is given at the present decision.
        """
        given, at = self.state["instructions"][world, agent], self.state["instructed_at"][world, agent]
        row = TEXTS.index(phrase)
        if given[0] != row:
            given[1:], at[1:] = given[:-1].copy(), at[:-1].copy()
            given[0] = row
            at[0] = self.state["episode_length"][world] if decision is None else decision

    def latest_commands(self, world: int) -> list[str]:
        """Each agent's latest instruction, one of `PHRASES` or ""."""
        return [TEXTS[row] for row in self.state["instructions"][world, :, 0]]

    def see_all(self) -> Arrays:
        """The game's own observations, name -> [B, N, ...], as inputs of phrases and commanders."""
        return super()._observe(np.arange(self.num_worlds))

    def render(self, index: int = 0) -> Array:
        """The game from above with the latest instructions above it, [H, W, 3] uint8."""
        # Draws with Pillow, which training does not need.
        from rl_envs.core.render import FOREGROUND
        from tune_experiments.play.captions import QUIET, Line, with_lines

        commands = enumerate(self.latest_commands(index))
        lines = [
            Line(f"agent {agent}: {text or 'no command'}", FOREGROUND if text else QUIET) for agent, text in commands
        ]
        return with_lines(super().render(index), lines)

    def _begin(self, rows: Array) -> None:
        super()._begin(rows)
        self._speak(rows, np.zeros(len(rows), np.int64))

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        result = super()._advance(actions, recorded)
        rows = np.arange(self.num_worlds)
        self._speak(rows, self.state["episode_length"] + 1)
        return result

    def _observe(self, rows: Array) -> Arrays:
        return self._as_read(super()._observe(rows), rows)

    def _as_read(self, seen: Arrays, rows: Array) -> Arrays:
        """Observations of some worlds as the network reads them, from the game's own observations."""
        given, at = self.state["instructions"][rows], self.state["instructed_at"][rows]
        since = self.state["episode_length"][rows][:, None, None] - at
        return read_by_network(seen) | {ROWS: given.copy(), AGES: np.clip(since // _AGE, 0, _OLDEST).astype(np.uint8)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        state, each = super()._blank_state(num_worlds), (num_worlds, self.num_agents, HEARD)
        state.update(instructions=np.zeros(each, np.uint8), instructed_at=np.zeros(each, np.int32))
        return state

    def _check_state(self, state: Arrays) -> None:
        super()._check_state(state)
        if "instructions" in state and state["instructions"].max(initial=0) >= len(TEXTS):
            raise ValueError(f"restore: instructions must lie in 0 .. {len(TEXTS) - 1}")

    def _speak(self, rows: Array, decisions: Array) -> None:
        """Let the commander speak to all agents of some worlds."""
        if self.commander in ("none", NARRATED):
            return
        seen = super()._observe(rows)
        drawn = self.chance.uniforms(2 * self.num_agents, rows, _FIRST_DRAW).reshape(len(rows), self.num_agents, 2)
        for place, world in enumerate(rows):
            enemies = self.enemies_trained(int(world))
            for agent in range(self.num_agents):
                view = {name: value[place, agent] for name, value in seen.items()}
                decision = int(decisions[place])
                phrase = say(self.commander, view, decision, enemies, agent, drawn[place, agent], self._share)
                self.tell(int(world), agent, phrase, decision)

    def enemies_trained(self, world: int) -> Sequence[int]:
        """Types that the enemy's script trains; empty for a script without a fixed choice."""
        return [int(kind) for kind in self.games["script_types"][world, 1] if kind > 0]
