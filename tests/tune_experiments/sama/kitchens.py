"""The real kitchen for tests of the planner: its features as a table, and cooks who walk to whatever they are told."""

import functools

import numpy as np

from rl_envs.overcooked.text import describe, read_states
from rl_envs.overcooked.words import NOTHING, READY, THINGS
from rl_envs.overcooked.world import Overcooked
from rl_models.planners.rewards import Transitions
from tune_experiments.sama.overcooked.domain import KitchenDomain


def open_kitchen(layout, worlds=1, **arguments):
    world = Overcooked(worlds, layout=layout, actions="any", **arguments)
    world.reset(0)
    return world


class WalkingCooks:
    """Does sub-goals in the words of `kitchen.subgoals`, by shortest ways; knows nothing of plans."""

    def __init__(self, world, kinds, seed=0):
        self.world, self.kitchen, self.kinds = world, world.kitchen, {kind.text: kind for kind in kinds}
        self.random, self.before = np.random.default_rng(seed), None

    def actions(self, subgoals, done):
        """[B, 2] cells, from texts [B][2]. Who has done it stays, [B][2]; when somebody is stuck all may step aside."""
        wanted = np.array(
            [
                [self.here(b, n) if done[b][n] else self.cell(b, n, text) for n, text in enumerate(commands)]
                for b, commands in enumerate(subgoals)
            ]
        )
        state = self.world.state
        now = np.stack([state["agent_cells"], state["headings"], state["held"], wanted], -1)
        is_stuck = np.zeros(wanted.shape, bool) if self.before is None else (now == self.before).all(-1)
        self.before = now
        is_stuck &= wanted != state["agent_cells"]
        steps_aside = is_stuck.any(1, keepdims=True) & (self.random.random(wanted.shape) < 0.5)
        beside = self.kitchen.front.reshape(-1, 4)[state["agent_cells"]]
        aside = np.take_along_axis(beside, self.random.integers(4, size=(*wanted.shape, 1)), -1)[..., 0]
        return np.where(steps_aside & self.kitchen.is_floor[aside], aside, wanted)

    def here(self, b, n):
        return int(self.world.state["agent_cells"][b, n])

    def cell(self, b, n, text):
        kind, state = self.kinds[text], self.world.state
        here, held = state["agent_cells"][b, n], THINGS[state["held"][b, n]]
        if kind.kind == "wait":
            front = self.kitchen.front[here * 4 + state["headings"][b, n]]
            return here if self.kitchen.cells_of(kind.target)[front] else self.nearest(here, self.of(kind.target))
        if kind.kind in ("bring", "fetch") and held == "nothing":
            return self.nearest(here, self.with_thing(b, kind.origin, kind.thing))
        if (held != kind.thing and kind.kind != "fill") or kind.kind == "fetch":
            return here
        if kind.kind == "fill":
            full = self.of(kind.target) & (state["contents"][b] == READY)
            return self.nearest(here, full) if held == "dish" and full.any() else here
        target = self.of(kind.target)
        return self.nearest(here, target & (state["contents"][b] == NOTHING) if "counter" in kind.target else target)

    def of(self, place):
        return self.kitchen.cells_of(place)

    def with_thing(self, b, place, thing):
        cells = self.of(place)
        return cells & (self.world.state["contents"][b] == THINGS.index(thing)) if "counter" in place else cells

    def nearest(self, here, cells):
        distances = np.where(cells, self.kitchen.distances[here], self.kitchen.size)
        return int(distances.argmin()) if distances.min() < self.kitchen.size else here


def texts(world):
    return [describe(world.kitchen, world.state, b) for b in range(world.num_worlds)]


@functools.cache
def roll(layout, worlds=64, steps=60, seed=0):
    """Play of walking cooks who are told random sub-goals: states before and after each step, and their texts."""
    world = open_kitchen(layout, worlds)
    domain = KitchenDomain(layout)
    world.restore(read_states(world.kitchen, domain.diverse_states(worlds, seed)))
    cooks = WalkingCooks(world, domain.kinds, seed)
    numbers = np.random.default_rng(seed)
    names = list(domain.subgoals)
    commands = numbers.choice(names, (worlds, 2)).tolist()
    moments = []
    for _ in range(steps):
        before, words = {name: value.copy() for name, value in world.state.items()}, texts(world)
        world.step(cooks.actions(commands, np.zeros((worlds, 2), bool)))
        after = {name: value.copy() for name, value in world.state.items()}
        moments.append((before, after, list(zip(words, texts(world), strict=True))))
        for b, n in np.argwhere(numbers.random((worlds, 2)) < 0.08):
            commands[b][n] = str(numbers.choice(names))
    previous, current = (
        {name: np.concatenate([moment[side][name] for moment in moments]) for name in moments[0][side]}
        for side in (0, 1)
    )
    pairs = tuple(pair for moment in moments for pair in moment[2])
    return world.kitchen, domain, Transitions(previous, current, pairs)


PAPER = r"""
\begin{document}
Deep networks have been applied to a great many hard problems in the course of the last ten years.

Two chefs cook \emph{soup}. Each chef must put three onions into the pot, which then cooks for 20 steps \cite{x}.
When the soup is ready a chef needs a dish for it, and delivers it to the hatch.
\end{document}
"""
