"""Rooms in which agents fetch items and fight monsters: what RTFM and its reading task have in common.

Here is what a room consists of, where everybody begins and what is seen of it; what happens in a step is in `turns.py`.
A subclass draws episodes, writes texts and says who moves first. This file must not know about elements, teams, letters
or documents.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.spec import Array, Arrays, TextSpec
from rl_envs.rtfm.grid import MOVES, NUM_MOVES, grid_of
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.observation import Observer, carried_names
from rl_envs.rtfm.turns import STEP_REWARD, Turns

if TYPE_CHECKING:
    from rl_envs.rtfm.render import Scene

DROPS = ("destroy", "floor")


class Arena(Turns):
    """B rooms; monsters are targets first, then the distractor, and items are numbered like the monsters they beat.

    State: `agent_cells` [B, N], `monster_cells` [B, M] and `item_cells` [B, I] int64, row * size + column, where dead
    creatures stay where they died and an item that nobody can pick up is in cell 0; `agent_alive`, `monster_alive`
    bool; `held` [B, N] int64, item number + 1 or 0; `beaten_by` [B, M] int64, the `held` that beats each monster;
    `monster_names`, `item_names` uint8; `step_limit` [B] int32; `document`, `goal` [B] int32, rows of the texts.
    """

    action_names = MOVES
    metric_names = ("win_rate",)

    def __init__(
        self,
        num_worlds: int,
        first_world: int,
        *,
        size: int,
        num_agents: int,
        num_targets: int,
        num_monsters: int,
        num_items: int,
        do_monsters_move: bool,
        do_monsters_move_first: bool,
        max_episode_steps: int,
        lexicon: Lexicon,
        document_length: int,
        goal_length: int,
        drop: str = "destroy",
        team_loss: float | None = None,
        names_per_cell: int = 1,
        sight: float | None = None,
    ) -> None:
        """Prepare the rooms; the subclass documents its arguments.

        Raises:
            ValueError: a room too small, or an argument out of range.
        """
        if drop not in DROPS:
            raise ValueError(f"drop must be one of {', '.join(DROPS)}, got {drop!r}")
        _check_counts(
            size=size, num_agents=num_agents, max_episode_steps=max_episode_steps, names_per_cell=names_per_cell
        )
        if sight is not None and not sight >= 0:
            raise ValueError(f"sight must be a distance of 0 or more, or None for all of the room, got {sight}")
        if team_loss is not None and not math.isfinite(team_loss):
            raise ValueError(f"team_loss must be a finite number, or None for the step's reward, got {team_loss}")
        self._grid = grid_of(size)
        self._num_entities = num_agents + num_monsters + num_items
        if self._num_entities > len(self._grid.inside):
            raise ValueError(
                f"{self._num_entities} agents, monsters and items do not fit into the {len(self._grid.inside)} cells "
                f"inside a room of size {size}: take a larger size"
            )
        self.agents = tuple(f"agent_{i}" for i in range(num_agents))
        self.action_spec = NUM_MOVES
        self.max_episode_steps = max_episode_steps
        self.lexicon = lexicon
        self.vocabulary = lexicon.vocabulary
        self._num_targets, self._num_monsters, self._num_items = num_targets, num_monsters, num_items
        self._do_monsters_move, self._do_monsters_move_first = do_monsters_move, do_monsters_move_first
        self._drops_on_floor = drop == "floor"
        self._team_loss = STEP_REWARD if team_loss is None else team_loss
        self._observer = Observer(self._grid, num_agents, len(lexicon.names), names_per_cell, sight)
        self.observation_spec = self._observer.spec
        self.text_spec = {
            "document": TextSpec(document_length, len(lexicon.vocabulary), "what beats what, who is in which team"),
            "goal": TextSpec(goal_length, len(lexicon.vocabulary), "whom to beat"),
        }
        self.recorded_draws = ("monster_moves", "monster_order") if do_monsters_move else ()
        self.recorded_draws += ("agent_order",) if num_agents > 1 else ()
        super().__init__(num_worlds, first_world)
        self.tables = {"name_words": lexicon.name_words, "name_kinds": lexicon.name_kinds}

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

    def _check_state(self, state: Arrays) -> None:
        """Numbers that point nowhere are refused.

        Raises:
            ValueError: a cell, name or number out of range.
        """
        for name, bound in self._state_bounds().items():
            values = np.asarray(state.get(name, 0))
            if values.size and (values.min() < 0 or values.max() >= bound):
                raise ValueError(f"restore: {name} must lie in 0 .. {bound - 1}, got {values.min()} .. {values.max()}")

    def _state_bounds(self) -> dict[str, int]:
        """State name -> how many values it can have."""
        cells = dict.fromkeys(("agent_cells", "monster_cells", "item_cells"), self._grid.size**2)
        names = dict.fromkeys(("monster_names", "item_names"), len(self.lexicon.names))
        return cells | names | {"held": self._num_items + 1}

    def _place(self, rows: Array, uniforms: Array) -> None:
        """Put everybody into different cells, uniformly.

        Args:
            rows: [K] worlds.
            uniforms: [K, C], one for each cell inside.
        """
        cells = self._grid.inside[uniforms.argsort(1)[:, : self._num_entities]]
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
        """[K, N] uint8, names under which inventories show what is held."""
        return carried_names(held, item_names)

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"win_rate": self._won(rows).astype(np.float64)}

    def render(self, index: int = 0) -> Array:
        """Picture of world `index` with its document, goal and inventories, [H, W, 3] uint8."""
        from rl_envs.rtfm import render  # Pillow is needed for pictures alone

        return render.draw(self.scene(index))

    def scene(self, index: int = 0) -> Scene:
        """What the picture of world `index` shows."""
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


def _check_counts(**counts: int) -> None:
    largest = np.iinfo(np.int32).max
    for name, count in counts.items():
        if not isinstance(count, Integral):
            raise ValueError(f"{name} must be a whole number, got {count!r}")
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
        if count > largest:
            raise ValueError(f"{name} must be at most {largest}, got {count}")


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
