"""Rooms in which agents fetch items and fight monsters, shared by RTFM and its reading task.

This file has the state of a room, the initial positions and the observations; `turns.py` has the rules of a step. A
subclass draws episodes and writes texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.metrics import SHARE
from rl_envs.core.spec import Array, Arrays, EntitySpec, TextSpec
from rl_envs.rtfm.grid import AGENT_COLOURS, MOVES, NUM_MOVES, grid_of
from rl_envs.rtfm.lexicon import KIND_MONSTER, Lexicon
from rl_envs.rtfm.observation import Observer, carried_names
from rl_envs.rtfm.settings import RoomSettings, StepRules
from rl_envs.rtfm.turns import Turns

if TYPE_CHECKING:
    from rl_envs.rtfm.render import Scene


@dataclass(frozen=True)
class RoomTexts:
    """The texts of a kind of world."""

    lexicon: Lexicon  # words and names
    document_length: int  # L, tokens of the longest document
    goal_length: int  # L, tokens of the longest goal


class Arena(Turns):
    """B rooms; monsters are the targets, then the distractor, and item k beats monster k.

    State: `agent_cells` [B, N], `monster_cells` [B, M] and `item_cells` [B, I] int64, row * size + column. The dead
    stay in their cell; an item that no agent can pick up is in cell 0. `agent_alive`, `monster_alive` bool; `held`
    [B, N] int64, item number + 1 or 0; `beaten_by` [B, M] int64, the value of `held` that beats each monster;
    `monster_names`, `item_names` uint8; `step_limit` [B] int32; `document`, `goal` [B] int32, rows of the texts.
    """

    action_names = MOVES
    colours = AGENT_COLOURS
    metric_names = ("win_rate", "fights_right_item", "fights_wrong_item", "fights_no_item")
    metric_ranges = MappingProxyType(dict.fromkeys(metric_names, SHARE))

    def __init__(
        self,
        num_worlds: int,
        first_world: int,
        room: RoomSettings,
        rules: StepRules,
        texts: RoomTexts,
        *,
        names_per_cell: int = 1,
        sight: float | None = None,
    ) -> None:
        """Prepare the rooms; the subclass documents its arguments."""
        self._grid = grid_of(room.size)
        if room.num_entities > len(self._grid.inside):
            raise ValueError(
                f"{room.num_entities} agents, monsters and items do not fit into the {len(self._grid.inside)} cells "
                f"inside a room of size {room.size}: take a larger size"
            )
        lexicon = texts.lexicon
        self.agents = tuple(f"agent_{i}" for i in range(room.num_agents))
        self.action_spec = NUM_MOVES
        self.max_episode_steps = rules.max_episode_steps
        self.lexicon = lexicon
        self.vocabulary = lexicon.vocabulary
        self._observer = Observer(self._grid, room.num_agents, len(lexicon.names), names_per_cell, sight)
        self.observation_spec = self._observer.spec
        self.text_spec = {
            "document": TextSpec(
                texts.document_length, len(lexicon.vocabulary), "modifiers of elements, members of teams"
            ),
            "goal": TextSpec(texts.goal_length, len(lexicon.vocabulary), "the team to beat"),
        }
        self.recorded_draws = ("monster_moves", "monster_order") if rules.do_monsters_move else ()
        self.recorded_draws += ("agent_order",) if room.num_agents > 1 else ()
        super().__init__(num_worlds, first_world, room, rules)
        self.tables = {"name_words": lexicon.name_words, "name_kinds": lexicon.name_kinds}
        self.text_tables = dict.fromkeys(("grid", "inventory"), "name_words")
        size, is_entity = (room.size, room.size), lexicon.name_kinds >= KIND_MONSTER
        self.entity_spec = EntitySpec("grid", "", "position", size, is_entity)

    @property
    def most_shown(self) -> int:
        """Number of agents, monsters and items that an agent sees beside itself at most."""
        return self._room.num_entities - 1

    def _blank_state(self, num_worlds: int) -> Arrays:
        agents, monsters, items = ((num_worlds, n) for n in (self.num_agents, self._num_monsters, self._num_items))
        return super()._blank_state(num_worlds) | {
            "agent_cells": np.zeros(agents, np.int64),
            "agent_alive": np.ones(agents, bool),
            "held": np.zeros(agents, np.int64),
            "monster_cells": np.zeros(monsters, np.int64),
            "monster_alive": np.ones(monsters, bool),
            "monster_names": np.zeros(monsters, np.uint8),
            "beaten_by": np.tile(np.arange(1, self._num_monsters + 1), (num_worlds, 1)),
            "item_cells": np.zeros(items, np.int64),
            "item_names": np.zeros(items, np.uint8),
            "step_limit": np.full(num_worlds, self.max_episode_steps, np.int32),
            "document": np.zeros(num_worlds, np.int32),
            "goal": np.zeros(num_worlds, np.int32),
        }

    def _needed_state(self) -> set[str]:
        return {"agent_cells", "monster_cells", "item_cells", "monster_names", "item_names"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        cells = dict.fromkeys(("agent_cells", "monster_cells", "item_cells"), (0, self._grid.size**2 - 1))
        names = dict.fromkeys(("monster_names", "item_names"), (0, len(self.lexicon.names) - 1))
        return cells | names | {"held": (0, self._num_items)}

    def _place(self, rows: Array, uniforms: Array) -> None:
        """Put agents, monsters and items into different cells, uniformly."""
        cells = self._grid.inside[uniforms.argsort(1)[:, : self._room.num_entities]]
        bounds = np.cumsum([self.num_agents, self._num_monsters])
        parts = np.split(cells, bounds, axis=1)
        for name, part in zip(("agent_cells", "monster_cells", "item_cells"), parts, strict=True):
            self.state[name][rows] = part

    def _observe(self, rows: Array) -> Arrays:
        state = self.state
        if len(rows) < self.num_worlds:
            state = {name: state[name][rows] for name in _SEEN}
        observations = self._observer.observe(
            state["agent_cells"] * state["agent_alive"],
            np.concatenate([state["item_cells"], state["monster_cells"] * state["monster_alive"]], axis=1),
            np.concatenate([state["item_names"], state["monster_names"]], axis=1),
            self._carried(state["held"], state["item_names"]),
        )
        for key in ("document", "goal"):
            observations[key] = np.repeat(state[key][:, None], self.num_agents, axis=1)
        return observations

    def _carried(self, held: Array, item_names: Array) -> Array:
        """[K, N] uint8, names of the held items as inventories show them."""
        return carried_names(held, item_names)

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"win_rate": self._won(rows).astype(np.float64)} | self._fights(rows)

    def render(self, index: int = 0) -> Array:
        """Image of world `index` with its document, goal and inventories, [H, W, 3] uint8."""
        from rl_envs.rtfm import render  # only rendering needs Pillow

        return render.draw(self.scene(index))

    def scene(self, index: int = 0) -> Scene:
        """The content of the image of world `index`."""
        from rl_envs.rtfm import render

        state = {name: value[index] for name, value in self.state.items()}
        carried = self._carried(state["held"][None], state["item_names"][None])[0]
        present = {"monster": state["monster_alive"], "item": state["item_cells"] > 0}
        named = {
            kind: [
                (self.lexicon.names[name], divmod(int(cell), self._grid.size))
                for name, cell in zip(state[f"{kind}_names"][is_here], state[f"{kind}_cells"][is_here], strict=True)
            ]
            for kind, is_here in present.items()
        }
        texts = {key: self.lexicon.decode(self.texts[key].look_up(state[key])) for key in ("document", "goal")}
        return render.Scene(
            size=self._grid.size,
            agents=[divmod(int(cell), self._grid.size) for cell in state["agent_cells"]],
            is_agent_alive=state["agent_alive"].tolist(),
            carried=[self.lexicon.names[name] for name in carried],
            monsters=named["monster"],
            items=named["item"],
            **texts,
        )


_SEEN = (
    "agent_cells",
    "agent_alive",
    "held",
    "monster_cells",
    "monster_alive",
    "monster_names",
    "item_cells",
    "item_names",
    "document",
    "goal",
)
