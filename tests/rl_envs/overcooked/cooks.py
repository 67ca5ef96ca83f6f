"""Two scripted cooks who really serve soups, in every kitchen: shortest ways, and things handed over counters."""

import numpy as np

from rl_envs.overcooked.relocation import Relocation
from rl_envs.overcooked.words import DISH, FULL, NOTHING, ONION, SOUP


class Cooks:
    """Chooses the game's own actions for all worlds of one kitchen.

    Whoever holds something takes it where it is needed, or where it cannot go, to a counter that both reach. Whoever is
    stuck moves at random.
    """

    def __init__(self, world, noise=0.1, seed=0):
        self.world, self.kitchen, self.noise = world, world.kitchen, noise
        self.random = np.random.default_rng(seed)
        self.ways = Relocation(self.kitchen, "any", 1)
        self.before = np.zeros((world.num_worlds, 2, 3), int)

    def __call__(self):
        """[B, 2] int64."""
        state, shape = self.world.state, (self.world.num_worlds, 2)
        wanted = np.array([[self.target(world, chef) for chef in range(2)] for world in range(shape[0])])
        moment = {name: state[name] for name in ("agent_cells", "headings")} | self.ways.blank(shape)
        actions = self.ways.actions(moment, wanted)
        random = self.random.integers(6, size=shape)
        now = np.stack([state[name] for name in ("agent_cells", "headings", "held")], -1)
        is_stuck, self.before = (now == self.before).all(-1), now
        return np.where(self.random.random(shape) < np.where(is_stuck, 0.6, self.noise), random, actions)

    def target(self, world, chef):
        """Cell that this chef goes for."""
        state, kitchen = self.world.state, self.kitchen
        contents, held = state["contents"][world], state["held"][world, chef]
        other = state["held"][world, 1 - chef]
        pots = contents[kitchen.pots].astype(int)
        if held == SOUP:
            return self.nearest(world, chef, kitchen.place_cells("hatch"), otherwise=self.free_bar(contents))
        if held == DISH:
            full = self.only(kitchen.pots[pots >= FULL])
            return self.nearest(world, chef, full, otherwise=self.free_bar(contents))
        if held == ONION:
            room = self.only(kitchen.pots[pots < FULL])
            return self.nearest(world, chef, room, otherwise=self.free_bar(contents))
        bar = kitchen.place_cells("shared counter")
        lies = [bar & (contents == thing) for thing in (ONION, DISH, SOUP)]
        if (pots >= FULL).any():
            spare = lies[SOUP - 1] if self.can(chef, "hatch") else bar & False
            dishes = lies[DISH - 1] if self.can(chef, "pot") else bar & False
            store = kitchen.place_cells("dish store")
            fewer = other != DISH and not lies[DISH - 1].any()
            for cells in (spare, dishes, store if fewer else bar & False):
                if (cells & kitchen.reach[chef]).any():
                    return self.nearest(world, chef, cells)
        if (pots < FULL).any():
            onions = lies[ONION - 1] if self.can(chef, "pot") else bar & False
            store = kitchen.place_cells("onion store")
            return self.nearest(world, chef, onions if (onions & kitchen.reach[chef]).any() else store)
        return state["agent_cells"][world, chef]

    def can(self, chef, place):
        return bool((self.kitchen.place_cells(place) & self.kitchen.reach[chef]).any())

    def only(self, cells):
        return np.isin(np.arange(self.kitchen.size), cells)

    def free_bar(self, contents):
        return self.kitchen.place_cells("shared counter") & (contents == NOTHING)

    def nearest(self, world, chef, cells, otherwise=None):
        here = self.world.state["agent_cells"][world, chef]
        reachable = cells & self.kitchen.reach[chef]
        if not reachable.any():
            return here if otherwise is None else self.nearest(world, chef, otherwise)
        return int(np.where(reachable, self.kitchen.distances[here], self.kitchen.size + 1).argmin())
