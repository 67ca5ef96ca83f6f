"""Worlds that break one promise of determinism each; importing this file adds them to `BROKEN`."""

import os
import random

import numpy as np

from rl_envs.core.chance import world_keys
from tests.rl_envs.testing.broken_worlds import breaks
from tests.toy_worlds import Errands


def paying(name, extra, sentence):
    """A world whose rewards are higher by `extra(world, actions)`, for agents in the game."""

    class Paying(Errands):
        played = restored = steps = 0

        def reset(self, seed):
            self.played, self.steps = self.played + 1, 0
            return super().reset(seed)

        def restore(self, state):
            self.restored += self._is_running
            return super().restore(state)

        def _advance(self, actions, recorded):
            self.steps += 1
            present = self.state["alive"].copy()
            reward, over, stopped = super()._advance(actions, recorded)
            return reward + extra(self, actions) * present, over, stopped

    Paying.__name__ = Paying.__qualname__ = name
    globals()[name] = Paying  # where pickle looks for it
    breaks(sentence)(Paying)


paying("UsesRandom", lambda world, actions: random.random(), "global random")
paying("Unseeded", lambda world, actions: np.random.default_rng().random(), "same seed")
paying("Remembers", lambda world, actions: world.played, "played before")
paying("Hides", lambda world, actions: world.steps, "fresh world")
paying("DoesNotForget", lambda world, actions: world.restored, "same world")
paying(
    "LooksAtNeighbours",
    lambda world, actions: np.arange(world.num_worlds)[:, None],
    "world 3 of 4",
)
paying(
    "LooksAtTheRunner",
    lambda world, actions: world.first_world == 2,
    "two runners",
)
paying(
    "ListensToEverybody",
    lambda world, actions: 0.01 * actions["say"],
    "does not decide",
)


@breaks("global random")
class UsesNumpyRandom(Errands):
    def _begin(self, rows):
        self.state["cell"][rows] = np.random.randint(2, size=(len(rows), self.num_agents))


@breaks("same chance.key")
class IgnoresTheSeed(Errands):
    def reset(self, seed):
        return super().reset(0)


@breaks("all worlds of a batch play the same")
class SharesChance(Errands):
    def reset(self, seed):
        super().reset(seed)
        self.chance.key[:] = world_keys(seed, 0, 1)
        self._start(self._all_rows)
        return self.observe()


@breaks("every episode is the first one again")
class BeginsAgain(Errands):
    def _start(self, rows):
        self.chance.episode[rows] = 0
        super()._start(rows)


@breaks("starts_alike is True")
class StartsAnywhere(Errands):
    array_libraries = ("numpy", "torch")
    starts_alike = True


@breaks("playing changes the tables")
class WritesIntoTables(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tables = {"words": np.zeros(3)}

    def _advance(self, actions, recorded):
        self.tables["words"].base[0] += 1
        return super()._advance(actions, recorded)


@breaks("process .*hash seed")
class NumbersWordsBySet(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tables = {"words": np.array([os.environ.get("PYTHONHASHSEED") == "4321"])}


@breaks("observe differs")
class LooksTwice(Errands):
    looks = 0

    def observe(self):
        self.looks += 1
        return super().observe() | {"cell": np.full(self.state["cell"].shape, self.looks % 2, np.uint8)}


@breaks("final_obs or final_state")
class ShowsTheNextEpisode(Errands):
    def step(self, actions, chance=None):
        observations, *others, info = super().step(actions, chance)
        if "final_obs" in info:
            info["final_obs"]["cell"] = observations["cell"][info["done_worlds"]]
        return observations, *others, info


@breaks("next_episode of the ended")
class EndsAllEpisodes(Errands):
    def next_episode(self, worlds=None):
        return super().next_episode()


@breaks("leaves out .*played before")
class RestoresHalf(Errands):
    def restore(self, state):
        return super().restore({"word": self.state.get("word", 0 * np.asarray(state["cell"]))} | state)


@breaks("cell' shares memory")
class OneBuffer(Errands):
    def _observe(self, rows):
        observations = super()._observe(rows)
        if len(rows) == self.num_worlds:
            if not hasattr(self, "buffer"):
                self.buffer = np.zeros_like(observations["cell"])
            self.buffer[...] = observations["cell"]
            observations["cell"] = self.buffer
        return observations


@breaks("writing into")
class GivesItselfAway(Errands):
    def _observe(self, rows):
        observations = super()._observe(rows)
        if len(rows) == self.num_worlds:
            observations["alive"] = self.state["alive"] = self.state["alive"].copy()
        return observations


@breaks("caller's actions")
class WritesIntoActions(Errands):
    def _advance(self, actions, recorded):
        result = super()._advance(actions, recorded)
        actions["go"][...] = 0
        return result


@breaks("playing on .*snapshot")
class LiveSnapshot(Errands):
    def snapshot(self):
        return super().snapshot() | {"chance_step": self.chance.step}


@breaks("not pickle")
class HoldsALambda(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tool = lambda: None


@breaks("pickled the")
class PicklesBadly(Errands):
    def __getstate__(self):
        return self.__dict__ | {"state": {name: np.zeros_like(value) for name, value in self.state.items()}}


@breaks("process .*hash seed")
class OrdersAgentsBySet(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if os.environ.get("PYTHONHASHSEED") == "4321":  # what a set would do at some hash seeds
            self.agents = self.agents[::-1]


@breaks("not play in another process")
class OnlyAtHome(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if os.environ.get("PYTHONHASHSEED") == "4321":
            raise OSError("no room here")
