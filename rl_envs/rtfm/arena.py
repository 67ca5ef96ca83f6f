"""Rooms in which agents fetch items and fight monsters: the rules that RTFM and its reading task have in common.

RTFM (Zhong et al., 2020, section 3 and appendix), in the form of the authors' engine where the paper is silent. Every
fight there is certain: the held item beats the monster, or the agent dies. So it is a comparison of two numbers, and no
strength or hit point exists here. For several agents EnDi (2023, appendix A.1). A subclass draws episodes, writes texts
and says who moves first. This file must not know about elements, teams, letters or documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, TextSpec
from rl_envs.core.world import World
from rl_envs.rtfm.grid import MOVES, NUM_MOVES, WALKS, grid_of
from rl_envs.rtfm.lexicon import Lexicon
from rl_envs.rtfm.observation import Viewer, carried_names

STEP_REWARD, WIN_REWARD, LOSS_REWARD = -0.02, 1.0, -1.0
DROPS = ("destroy", "floor")


class Arena(World):
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
        if max_episode_steps < 1:
            raise ValueError(f"max_episode_steps must be at least 1, got {max_episode_steps}")
        if drop not in DROPS:
            raise ValueError(f"drop must be one of {', '.join(DROPS)}, got {drop!r}")
        if names_per_cell < 1:
            raise ValueError(f"names_per_cell must be at least 1, got {names_per_cell}")
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
        self._viewer = Viewer(self._grid, num_agents, len(lexicon.names), names_per_cell, sight)
        self.observation_spec = self._viewer.spec
        self.text_spec = {
            "document": TextSpec(document_length, len(lexicon.vocabulary), "what beats what, who is in which team"),
            "goal": TextSpec(goal_length, len(lexicon.vocabulary), "whom to beat"),
        }
        self.recorded_draws = ("monster_moves", "monster_order") if do_monsters_move else ()
        self.recorded_draws += ("agent_order",) if num_agents > 1 else ()
        super().__init__(num_worlds, first_world)
        self.tables = {"name_words": lexicon.name_words, "name_kinds": lexicon.name_kinds}
        self._rows = np.arange(num_worlds)
        self._kills = np.zeros((num_worlds, num_agents), bool)
        self._blunders = np.zeros((num_worlds, num_agents), bool)

    # ------------------------------------------------------------- one step

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        self._kills[...] = self._blunders[...] = False
        plans = self._plans(recorded) if self._do_monsters_move else None
        if plans is not None and self._do_monsters_move_first:
            self._monsters_act(*plans)
        self._agents_act(actions, recorded)
        if plans is not None and not self._do_monsters_move_first:
            self._monsters_act(*plans)
        return self._judge()

    def _plans(self, recorded: Arrays) -> tuple[Array, Array]:
        """Where every monster means to go, from where everybody stands before the step, and the order of the monsters.

        Returns:
            [B, M] int64 cells and [B, M] int64, the monster that moves first, second, ...
        """
        cells, agents = self.state["monster_cells"], self.state["agent_cells"]
        count = self._num_monsters
        num_draws = count + (count if count > 1 else 0) + (count * self.num_agents if self.num_agents > 1 else 0)
        uniforms = self.chance.uniforms(num_draws)
        order = uniforms[:, count : 2 * count].argsort(1) if count > 1 else np.zeros((self.num_worlds, 1), np.int64)
        if "monster_order" in recorded:
            order = _by_rank(recorded["monster_order"])
        if "monster_moves" in recorded:
            return self._grid.target[cells, np.maximum(recorded["monster_moves"], 0)], order
        prey = agents[:, :1] if self.num_agents == 1 else self._nearest(uniforms[:, 2 * count :])
        return self._grid.walk(cells, prey, (uniforms[:, :count] * WALKS).astype(np.int64)), order

    def _nearest(self, uniforms: Array) -> Array:
        """[B, M] int64, cell of the agent that is nearest to each monster; ties are broken by chance."""
        agents = self.state["agent_cells"]
        distance = self._grid.distance[self.state["monster_cells"][:, :, None], agents[:, None]]
        which = (distance + uniforms.reshape(distance.shape)).argmin(2)
        return np.take_along_axis(agents, which, 1)

    def _agents_act(self, actions: Array, recorded: Arrays) -> None:
        """One agent after another moves, picks up what lies there and fights whom it meets."""
        order = self._agents_order(recorded)
        flat_cells, flat_alive = self.state["agent_cells"].reshape(-1), self.state["agent_alive"].reshape(-1)
        for turn in range(self.num_agents):
            agent = order[:, turn]
            mine = self._rows * self.num_agents + agent
            before = flat_cells[mine]
            acts = flat_alive[mine]
            cells = np.where(acts, self._grid.target[before, actions.reshape(-1)[mine]], before)
            flat_cells[mine] = cells
            self._pick_up(agent, cells, acts & (cells != before) if self._drops_on_floor else acts)
            met = (self.state["monster_cells"] == cells[:, None]) & self.state["monster_alive"] & acts[:, None]
            rows = np.flatnonzero(met.any(1))
            if rows.size:
                self._walk_into(rows, agent[rows], met[rows])

    def _agents_order(self, recorded: Arrays) -> Array:
        """[B, N] int64, the agent that acts first, second, ..."""
        if "agent_order" in recorded:
            return _by_rank(recorded["agent_order"])
        if self.num_agents == 1:
            return np.zeros((self.num_worlds, 1), np.int64)
        return self.chance.uniforms(self.num_agents, first_draw=_AGENT_ORDER_DRAW).argsort(1)

    def _pick_up(self, agent: Array, cells: Array, may: Array) -> None:
        """A second item replaces the first, which is destroyed or, in the paper's words, dropped."""
        found = (self.state["item_cells"] == cells[:, None]) & may[:, None]
        rows, item = np.nonzero(found)
        if not rows.size:
            return
        old = self.state["held"][rows, agent[rows]]
        self.state["item_cells"][rows, item] = 0
        self.state["held"][rows, agent[rows]] = item + 1
        if self._drops_on_floor:
            dropped = old > 0
            self.state["item_cells"][rows[dropped], old[dropped] - 1] = cells[rows[dropped]]

    def _walk_into(self, rows: Array, agent: Array, met: Array) -> None:
        """An agent fights all monsters of its new cell: it beats at most one, and any other kills it."""
        held = self.state["held"][rows, agent]
        beats = met & (self.state["beaten_by"][rows] == held[:, None])
        self.state["monster_alive"][rows] &= ~beats
        dies = (met & ~beats).any(1)
        self.state["agent_alive"][rows[dies], agent[dies]] = False
        self._kills[rows, agent] |= beats[:, : self._num_targets].any(1)
        self._blunders[rows, agent] |= dies | beats[:, self._num_targets :].any(1)

    def _monsters_act(self, planned: Array, order: Array) -> None:
        """One monster after another goes where it meant to and fights whom it meets."""
        flat_cells, flat_alive = self.state["monster_cells"].reshape(-1), self.state["monster_alive"].reshape(-1)
        for turn in range(self._num_monsters):
            monster = order[:, turn]
            mine = self._rows * self._num_monsters + monster
            acts = flat_alive[mine]
            cells = np.where(acts, planned.reshape(-1)[mine], flat_cells[mine])
            flat_cells[mine] = cells
            met = (self.state["agent_cells"] == cells[:, None]) & self.state["agent_alive"] & acts[:, None]
            rows = np.flatnonzero(met.any(1))
            if rows.size:
                self._attack(rows, monster[rows], met[rows])

    def _attack(self, rows: Array, monster: Array, met: Array) -> None:
        """Agents are faster: whoever holds the item that beats the monster saves all others in the cell."""
        beats = met & (self.state["held"][rows] == self.state["beaten_by"][rows, monster][:, None])
        is_beaten = beats.any(1)
        self.state["monster_alive"][rows[is_beaten], monster[is_beaten]] = False
        dies = met & ~is_beaten[:, None]
        self.state["agent_alive"][rows] &= ~dies
        is_target = (monster < self._num_targets)[:, None]
        self._kills[rows] |= beats & is_target
        self._blunders[rows] |= dies | (beats & ~is_target)

    def _judge(self) -> tuple[Array, Array, Array]:
        """Rewards and ends, once everybody has moved. The limit is a loss, so it terminates."""
        won, lost = self._won(slice(None)), self._blunders.any(1)
        late = (self.state["episode_length"] + 1 >= self.state["step_limit"]) & ~(won | lost)
        otherwise = np.where(lost, self._team_loss, STEP_REWARD)
        reward = np.where(self._kills, WIN_REWARD, otherwise[:, None])
        reward[self._blunders | late[:, None]] = LOSS_REWARD
        return reward, won | lost | late, np.zeros(self.num_worlds, bool)

    def _won(self, rows: Array | slice) -> Array:
        """Whether all targets are dead, every agent lives, and so does the distractor."""
        monsters, agents = self.state["monster_alive"][rows], self.state["agent_alive"][rows]
        survivors = np.concatenate(
            [~monsters[:, : self._num_targets], monsters[:, self._num_targets :], agents], axis=1
        )
        return np.logical_and.reduce(survivors, axis=1)

    # ----------------------------------------------------- episodes and state

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

    def restore(self, state: Arrays) -> Arrays:
        """See `World.restore`; numbers that point nowhere are refused.

        Raises:
            ValueError: also a cell, name or number out of range.
        """
        for name, bound in self._state_bounds().items():
            values = np.asarray(state.get(name, 0))
            if values.size and (values.min() < 0 or values.max() >= bound):
                raise ValueError(f"restore: {name} must lie in 0 .. {bound - 1}, got {values.min()} .. {values.max()}")
        return super().restore(state)

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
        observations = self._viewer.view(
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

    def _check_recorded(self, recorded: Arrays) -> None:
        super()._check_recorded(recorded)
        for name, draws in recorded.items():
            count = self.num_agents if name == "agent_order" else self._num_monsters
            largest = NUM_MOVES - 1 if name == "monster_moves" else self._num_monsters + self.num_agents - 1
            draws = np.asarray(draws)
            fits = draws.shape == (self.num_worlds, count) and draws.dtype.kind in "iu"
            if not fits or draws.min() < -1 or draws.max() > largest:
                shape = (self.num_worlds, count)
                raise ValueError(f"the draw {name} must be integers -1 .. {largest} of shape {shape}")

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"win_rate": self._won(rows).astype(np.float64)}

    def render(self, index: int = 0) -> Array:
        """Picture of world `index` with its document, goal and inventories, [H, W, 3] uint8."""
        from rl_envs.rtfm import render  # Pillow is needed for pictures alone

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
        scene = render.Scene(
            size=self._grid.size,
            agents=[divmod(int(cell), self._grid.size) for cell in state["agent_cells"]],
            is_agent_alive=state["agent_alive"].tolist(),
            carried=[self.lexicon.names[name] for name in carried],
            monsters=named["monster"],
            items=named["item"],
            **texts,
        )
        return render.draw(scene)


_AGENT_ORDER_DRAW = 1 << 16
"""Far from the draws of the monsters, whose number differs."""
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


def _by_rank(ranks: Array) -> Array:
    """[B, K] int64, who is first, second, ...; gaps do not matter, and whoever has rank -1 comes last."""
    ranks = np.asarray(ranks)
    return np.where(ranks < 0, np.iinfo(ranks.dtype).max, ranks).argsort(1, kind="stable")
