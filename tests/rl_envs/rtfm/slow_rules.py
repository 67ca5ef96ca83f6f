"""The rules of a step written out, one agent and one monster after another, on plain numbers of one world.

RTFM, section 3, the authors' engine where it is silent, and for teams EnDi, appendix A.1, and docs/decisions.md.
"""

STEPS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))


class SlowRoom:
    """A room before a step; places are (row, column), (0, 0) for an item that is gone."""

    def __init__(self, size, state):
        self.size = size
        places = ([divmod(cell, size) for cell in state[f"{kind}_cells"]] for kind in ("agent", "monster", "item"))
        self.agents, self.monsters, self.items = places
        self.held, self.beaten_by = state["held"], state["beaten_by"]
        self.is_alive, self.is_monster_alive = state["agent_alive"], state["monster_alive"]
        self.targets, self.is_last = (
            self.beaten_by[: len(self.agents)],
            state["episode_length"] + 1 == state["step_limit"],
        )
        self.killers, self.losers, self.fought_with = set(), set(), {}

    def play(self, turns, drops):
        """`turns` is a list of ("agent" or "monster", number, move) in the order of the moves."""
        planned = [
            self._ahead(place, max(move, 0)) for place, move in zip(self.monsters, self._moves(turns), strict=True)
        ]
        for kind, number, move in turns:
            if kind == "agent" and self.is_alive[number]:
                self._act(number, move, drops)
            elif kind == "monster" and self.is_monster_alive[number]:
                self.monsters[number] = planned[number]
                around = [a for a, place in enumerate(self.agents) if self.is_alive[a] and place == planned[number]]
                self._fight(around, number)

    def _moves(self, turns):
        """Moves of the monsters by number, which they choose before anybody moves."""
        moves = {number: move for kind, number, move in turns if kind == "monster"}
        return [moves.get(number, 0) for number in range(len(self.monsters))]

    def _ahead(self, place, move):
        there = tuple(a + b for a, b in zip(place, STEPS[move], strict=True))
        return there if all(0 < part < self.size - 1 for part in there) else place

    def _act(self, agent, move, drops):
        before, here = self.agents[agent], self._ahead(self.agents[agent], move)
        self.agents[agent] = here
        if here in self.items and not (drops and here == before):
            item, old = self.items.index(here), self.held[agent]
            self.items[item], self.held[agent] = (0, 0), item + 1
            if drops and old:
                self.items[old - 1] = here
        for monster, place in enumerate(self.monsters):
            if self.is_monster_alive[monster] and place == here:
                self._fight([agent], monster)

    def _fight(self, agents, monster):
        """One agent with the right item saves all; without one all die."""
        winners = [agent for agent in agents if self.held[agent] == self.beaten_by[monster]]
        self.fought_with |= {agent: self.held[agent] for agent in winners or agents}
        if winners:
            self.is_monster_alive[monster] = False
            (self.killers if monster < len(self.targets) else self.losers).update(winners)
        else:
            self.losers.update(agents)
            for agent in agents:
                self.is_alive[agent] = False

    @property
    def is_won(self):
        distractors = self.is_monster_alive[len(self.targets) :]
        return not any(self.is_monster_alive[: len(self.targets)]) and all(self.is_alive) and all(distractors)

    @property
    def is_over(self):
        return bool(self.is_won or self.losers or self.is_last)

    def rewards(self, team_loss):
        """Of each agent; a loss of the team costs the others `team_loss`, None for what a step costs."""
        if self.is_over and not self.is_won and not self.losers:
            return [-1.0] * len(self.agents)
        otherwise = team_loss if self.losers and team_loss is not None else -0.02
        return [
            -1.0 if agent in self.losers else 1.0 if agent in self.killers else otherwise
            for agent in range(len(self.agents))
        ]

    def fights(self):
        """Shares of the fighters by what they held: what beats a target, something else, nothing."""
        held = [self.fought_with[agent] for agent in sorted(self.killers | self.losers)]
        right, wrong = sum(one in self.targets for one in held), sum(one > 0 for one in held)
        return [count / max(len(held), 1) for count in (right, wrong - right, len(held) - wrong)]


def slow_rooms(world):
    """The present rooms of all worlds."""
    size, state = world.observation_spec["grid"].shape[0], {name: value.tolist() for name, value in world.state.items()}
    return [SlowRoom(size, {name: value[row] for name, value in state.items()}) for row in range(world.num_worlds)]
