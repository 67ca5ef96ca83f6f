"""The rules of a step in a room with agents, items and monsters: moves, items and fights.

RTFM (Zhong et al., 2020, section 3 and appendix); where the paper is silent, the authors' engine. Every fight there is
deterministic: the held item beats the monster, or the agent dies. So a fight compares two numbers, without strength or
hit points. For several agents EnDi (2023, appendix A.1).
"""

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.core.world import World
from rl_envs.rtfm.grid import NUM_MOVES, WALKS, Grid
from rl_envs.rtfm.settings import RoomSettings, StepRules

STEP_REWARD, WIN_REWARD, LOSS_REWARD = -0.02, 1.0, -1.0
_AGENT_ORDER_DRAW = 1 << 16
"""First draw of the agents' order, beyond all draws of the monsters, whose number varies."""


class Turns(World):
    """The rules of a step, on the state that `Arena` describes."""

    _grid: Grid

    def __init__(self, num_worlds: int, first_world: int, room: RoomSettings, rules: StepRules) -> None:
        super().__init__(num_worlds, first_world)
        self._room, self._rules = room, rules
        self._drops_on_floor = rules.drop == "floor"
        self._num_targets, self._num_monsters, self._num_items = room.num_targets, room.num_monsters, room.num_items
        self._rows = np.arange(num_worlds)
        self._kills = np.zeros((num_worlds, self.num_agents), bool)
        self._blunders = np.zeros((num_worlds, self.num_agents), bool)
        self._fought_with = np.zeros((num_worlds, self.num_agents), np.int64)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        self._kills[...] = self._blunders[...] = False
        plans = self._plans(recorded) if self._rules.do_monsters_move else None
        if plans is not None and self._rules.do_monsters_move_first:
            self._monsters_act(*plans)
        self._agents_act(actions, recorded)
        if plans is not None and not self._rules.do_monsters_move_first:
            self._monsters_act(*plans)
        results = self._judge()
        if self._rules.do_rewrite_texts:
            self._write(self._rows)
        return results

    def _write(self, rows: Array) -> None:
        """Write new documents and goals in these worlds."""
        raise NotImplementedError

    def _plans(self, recorded: Arrays) -> tuple[Array, Array]:
        """The cell that every monster intends to enter, from the positions before the step, and the monsters' order."""
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
        """[B, M] int64, cell of the agent nearest to each monster; ties are broken at random."""
        agents = self.state["agent_cells"]
        distance = self._grid.distance[self.state["monster_cells"][:, :, None], agents[:, None]]
        which = (distance + uniforms.reshape(distance.shape)).argmin(2)
        return np.take_along_axis(agents, which, 1)

    def _agents_act(self, actions: Array, recorded: Arrays) -> None:
        """Agents move one after another; each picks up the item in its new cell and fights the monsters there."""
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
        """A new item replaces the held one, which is destroyed or (in the paper) dropped."""
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
        """An agent fights all monsters in its new cell: it beats at most one, and any other monster kills it."""
        held = self.state["held"][rows, agent]
        beats = met & (self.state["beaten_by"][rows] == held[:, None])
        self.state["monster_alive"][rows] &= ~beats
        dies = (met & ~beats).any(1)
        self.state["agent_alive"][rows[dies], agent[dies]] = False
        self._kills[rows, agent] |= beats[:, : self._num_targets].any(1)
        self._blunders[rows, agent] |= dies | beats[:, self._num_targets :].any(1)
        self._fought_with[rows, agent] = held

    def _monsters_act(self, planned: Array, order: Array) -> None:
        """Monsters move one after another to their intended cells and fight the agents there."""
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
        """Agents strike first: an agent with the item that beats the monster saves all others in the cell."""
        held = self.state["held"][rows]
        beats = met & (held == self.state["beaten_by"][rows, monster][:, None])
        is_beaten = beats.any(1)
        self.state["monster_alive"][rows[is_beaten], monster[is_beaten]] = False
        dies = met & ~is_beaten[:, None]
        self.state["agent_alive"][rows] &= ~dies
        is_target = (monster < self._num_targets)[:, None]
        self._kills[rows] |= beats & is_target
        self._blunders[rows] |= dies | (beats & ~is_target)
        self._fought_with[rows] = np.where(dies | beats, held, self._fought_with[rows])

    def _judge(self) -> tuple[Array, Array, Array]:
        """Rewards and ends after all moves. The time limit is a loss, so it is a termination."""
        won, lost = self._won(slice(None)), self._blunders.any(1)
        late = (self.state["episode_length"] + 1 >= self.state["step_limit"]) & ~(won | lost)
        team_loss = STEP_REWARD if self._rules.team_loss is None else self._rules.team_loss
        otherwise = np.where(lost, team_loss, STEP_REWARD)
        reward = np.where(self._kills, WIN_REWARD, otherwise[:, None])
        reward[self._blunders | late[:, None]] = LOSS_REWARD
        return reward, won | lost | late, np.zeros(self.num_worlds, bool)

    def _won(self, rows: Array | slice) -> Array:
        """Whether all targets are dead and all agents and the distractor are alive, [K] bool."""
        monsters, agents = self.state["monster_alive"][rows], self.state["agent_alive"][rows]
        survivors = np.concatenate(
            [~monsters[:, : self._num_targets], monsters[:, self._num_targets :], agents], axis=1
        )
        return np.logical_and.reduce(survivors, axis=1)

    def _fights(self, rows: Array) -> Arrays:
        """Shares of the agents that fought in the last step, by held item, [K] float64 each; 0 if none fought."""
        fought, held = (self._kills | self._blunders)[rows], self._fought_with[rows]
        is_right = (held[:, :, None] == self.state["beaten_by"][rows, None, : self._num_targets]).any(2)
        by_item = {"right": is_right, "wrong": ~is_right & (held > 0), "no": held == 0}
        count = np.maximum(fought.sum(1), 1)
        return {f"fights_{item}_item": (fought & holds).sum(1) / count for item, holds in by_item.items()}

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        monsters, last = (self.num_worlds, self._num_monsters), self._num_monsters + self.num_agents - 1
        return {
            "monster_moves": (monsters, -1, NUM_MOVES - 1),
            "monster_order": (monsters, -1, last),
            "agent_order": ((self.num_worlds, self.num_agents), -1, last),
        }


def _by_rank(ranks: Array) -> Array:
    """[B, K] int64, number of the first, second, ... entity by rank; gaps are allowed, and rank -1 comes last."""
    ranks = np.asarray(ranks)
    return np.where(ranks < 0, np.iinfo(ranks.dtype).max, ranks).argsort(1, kind="stable")
