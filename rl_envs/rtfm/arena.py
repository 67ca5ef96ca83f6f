"""Rooms in which agents fetch items and fight monsters, shared by RTFM and its reading task.

This file has the state of a room, the initial positions and the observations; `turns.py` has the rules of a step. A
subclass draws episodes and writes texts. A room is a matrix of texts (RTFM, section 3); here a text is the number of a
name, one byte. The offset of every cell from the agent is not observed: a network can compute it from `position`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.arguments import whole
from rl_envs.core.metrics import SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec, EntitySpec, TextSpec
from rl_envs.rtfm.grid import AGENT_COLOURS, MOVES, NUM_MOVES, Grid, make_grid
from rl_envs.rtfm.lexicon import AGENT, EMPTY, EMPTY_HANDED, FOG, KIND_MONSTER, WALL, YOU, Lexicon
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
        self._grid = make_grid(room.size)
        if room.num_entities > len(self._grid.inside):
            raise ValueError(
                f"{room.num_entities} agents, monsters and items do not fit into the {len(self._grid.inside)} cells "
                f"inside a room of size {room.size}: take a larger size"
            )
        lexicon = texts.lexicon
        self.agents = tuple(f"agent_{i}" for i in range(room.num_agents))
        self.action_spec = NUM_MOVES
        self.max_episode_steps = int(rules.max_episode_steps)
        self.lexicon = lexicon
        self.vocabulary = lexicon.vocabulary
        self._observer = Observer(self._grid, room.num_agents, len(lexicon.names), names_per_cell, sight)
        self.observation_spec = self._observer.spec
        self.text_spec = {
            "document": TextSpec(texts.document_length, len(lexicon.vocabulary), "what beats whom"),
            "goal": TextSpec(texts.goal_length, len(lexicon.vocabulary), "whom to beat"),
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
        """Largest number of other agents, monsters and items that an agent sees."""
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

    def _check_state(self, state: Arrays) -> None:
        """Refuse what is in a wall; cell 0 is nowhere, for items and the dead."""
        for name in ("agent", "monster", "item"):
            cells = state[f"{name}_cells"]
            alive = state.get(f"{name}_alive", np.full(cells.shape, name != "item"))
            if not (np.isin(cells, self._grid.inside) | ((cells == 0) & ~alive)).all():
                raise ValueError(f"restore: {name}_cells must be cells inside the walls, got {cells.tolist()}")

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
            state = {name: value[rows] for name, value in state.items()}
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
        return np.where(held > 0, item_names[np.arange(len(held))[:, None], held - 1], np.uint8(EMPTY_HANDED))

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"win_rate": self._won(rows).astype(np.float64)} | self._fights(rows)

    def render(self, index: int = 0) -> Array:
        """Image of world `index` with its document, goal and inventories, [H, W, 3] uint8."""
        from rl_envs.rtfm import render  # only rendering needs Pillow

        return render.draw(self.scene(index))

    def picture(self, index: int = 0) -> Array:
        """Image of world `index` without its texts, [H, W, 3] uint8."""
        from rl_envs.rtfm import render

        return render.draw(self.scene(index), has_texts=False)

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


class Observer:
    """Computes the observations of N agents in rooms of one size."""

    def __init__(self, grid: Grid, num_agents: int, num_names: int, names_per_cell: int, sight: float | None) -> None:
        """Prepare the empty room, for N agents, K names and P names per cell.

        Cells further than `sight` (Euclidean distance) are fog; None shows the whole room.
        """
        whole("names_per_cell", names_per_cell, 1)
        if sight is not None and not (isinstance(sight, Real) and sight >= 0):
            raise ValueError(f"sight must be a distance of 0 or more, or None for all of the room, got {sight!r}")
        self._grid = grid
        self._names_per_cell = names_per_cell
        self._bare = np.zeros((grid.size**2, names_per_cell), np.uint8)
        self._bare[:, 0] = WALL
        self._bare[grid.inside, 0] = EMPTY
        self._own_first = (np.arange(num_agents)[:, None] + np.arange(num_agents)) % num_agents
        self._own_last = self._own_first[:, ::-1]
        self._faces = np.array([AGENT] * (num_agents - 1) + [YOU], np.uint8)
        self._is_fog = None if sight is None else grid.distance > sight**2
        last, size = num_names - 1, grid.size
        self.spec = {
            "grid": ArraySpec((size, size, names_per_cell), "uint8", 0, last, "names in each cell, highest first"),
            "position": ArraySpec((num_agents, 2), "uint8", 0, size - 2, "row and column of agents, its own first"),
            "legal": ArraySpec((NUM_MOVES,), "bool", 0, 1, "moves that do not lead into a wall"),
            "inventory": ArraySpec((num_agents,), "uint8", 0, last, "names of what agents hold, its own first"),
        }

    def observe(self, agents: Array, things: Array, names: Array, carried: Array) -> Arrays:
        """Observations of all agents of K worlds, [K, N, ...] as `spec` declares them.

        `agents` [K, N]: their cells, 0 for the dead; `things` [K, E] and `names` [K, E]: cells of items and monsters,
        lowest first, 0 for removed ones, and their names; `carried` [K, N]: names of held items.
        """
        return {
            "grid": self._names_in_cells(agents, things, names),
            "position": self._grid.coordinates[agents[:, self._own_first]],
            "legal": self._grid.is_legal[agents],
            "inventory": carried[:, self._own_first],
        }

    def _names_in_cells(self, agents: Array, things: Array, names: Array) -> Array:
        """[K, N, H, W, P] uint8."""
        count, num_agents = agents.shape
        rooms = np.empty((count, 1, *self._bare.shape), np.uint8)
        rooms[...] = self._bare
        if self._names_per_cell == 1:
            _paint(rooms, things[:, None], names[:, None])
            grids = rooms if num_agents == 1 else np.repeat(rooms, num_agents, axis=1)
            _paint(grids, agents[:, self._own_last], self._faces)
            grids[:, :, 0] = WALL
        else:
            grids = np.repeat(rooms, num_agents, axis=1)
            self._stack(grids, agents, things, names)
        if self._is_fog is not None:
            grids[self._is_fog[agents]] = [FOG] + [0] * (self._names_per_cell - 1)
        size = self._grid.size
        return grids.reshape(count, num_agents, size, size, self._names_per_cell)

    def _stack(self, grids: Array, agents: Array, things: Array, names: Array) -> None:
        """Write several names per cell; the index of a name is the number of higher names in its cell."""
        count, num_agents = agents.shape
        cells = np.concatenate([agents[:, self._own_first], np.repeat(things[:, None, ::-1], num_agents, 1)], axis=2)
        faces = np.tile(self._faces[::-1], (count, num_agents, 1))
        all_names = np.concatenate([faces, np.repeat(names[:, None, ::-1], num_agents, 1)], axis=2)
        higher = np.tril(cells[..., :, None] == cells[..., None, :], -1).sum(-1)
        world, viewer, entity = np.nonzero((cells > 0) & (higher < self._names_per_cell))
        chosen = (world, viewer, entity)
        grids[world, viewer, cells[chosen], higher[chosen]] = all_names[chosen]


def _paint(grids: Array, cells: Array, names: Array) -> None:
    """Write names [K, V, E] into cells [K, V, E] of grids [K, V, C, 1]; a later name replaces an earlier one."""
    flat = grids.reshape(-1)
    first = np.arange(0, flat.size, grids.shape[2]).reshape(*grids.shape[:2], 1)
    flat[first + cells] = names
