"""Worlds that break one promise of determinism each; importing this file adds them to `BROKEN`."""

import os

import numpy as np

from tests.rl_envs.testing.broken_worlds import breaks
from tests.toy_worlds import Errands


@breaks("draws from the process's global random numbers")
class UsesNumpyRandom(Errands):
    def _begin(self, rows):
        self.state["cell"][rows] = np.random.randint(2, size=(len(rows), self.num_agents))


@breaks("draws from the process's global random numbers")
class UsesRandom(Errands):
    def _advance(self, actions, recorded):
        import random

        reward, over, stopped = super()._advance(actions, recorded)
        return reward + random.random(), over, stopped


@breaks("the same seed gave another game")
class Unseeded(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + np.random.default_rng().random(), over, stopped


@breaks("a world that was played before replays another game")
class Remembers(Errands):
    games = 0

    def reset(self, seed):
        self.games += 1
        return super().reset(seed)

    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + self.games, over, stopped


@breaks("world 3 of 4 plays another game alone")
class LooksAtNeighbours(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + np.arange(self.num_worlds)[:, None], over, stopped


@breaks("split over two runners the worlds play other games")
class LooksAtTheRunner(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + (self.first_world == 2), over, stopped


@breaks("'obs/cell' shares memory|'observation cell' shares memory")
class OneBuffer(Errands):
    def _observe(self, rows):
        observations = super()._observe(rows)
        if len(rows) == self.num_worlds:
            if not hasattr(self, "buffer"):
                self.buffer = np.zeros_like(observations["cell"])
            self.buffer[...] = observations["cell"]
            observations["cell"] = self.buffer
        return observations


@breaks("writing into returned arrays changes the game")
class GivesItselfAway(Errands):
    def _observe(self, rows):
        observations = super()._observe(rows)
        if len(rows) == self.num_worlds:
            observations["alive"] = self.state["alive"] = self.state["alive"].copy()
        return observations


@breaks("step changes the caller's actions")
class WritesIntoActions(Errands):
    def _advance(self, actions, recorded):
        result = super()._advance(actions, recorded)
        actions["go"][...] = 0
        return result


@breaks("the action of an agent that does not decide changes the game")
class ListensToEverybody(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + 0.01 * actions["say"], over, stopped


@breaks("playing on changes '.*' in a snapshot taken before")
class LiveSnapshot(Errands):
    def snapshot(self):
        return super().snapshot() | {"chance_step": self.chance.step}


class Hides(Errands):
    """Keeps a part of its state outside of `state`: the number of env steps played, by world."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.hidden = np.zeros(self.num_worlds)

    def reset(self, seed):
        self.hidden[:] = 0
        return super().reset(seed)

    def _advance(self, actions, recorded):
        self.hidden += 1
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + self.hidden[:, None], over, stopped


breaks("restored into a fresh world the snapshot has another future")(Hides)


@breaks("restored into the same world the snapshot has another future")
class DoesNotForget(Errands):
    """Restoring leaves what was played before in place."""

    restored = 0

    def restore(self, state):
        self.restored += self._is_running
        return super().restore(state)

    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + self.restored, over, stopped


@breaks("the world does not pickle")
class HoldsALambda(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tool = lambda: None


@breaks("pickled the world has another future")
class PicklesBadly(Errands):
    def __getstate__(self):
        return self.__dict__ | {"state": {name: np.zeros_like(value) for name, value in self.state.items()}}


@breaks("another process with another hash seed plays another game")
class HashesNames(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + hash("a name") / 2**64, over, stopped


@breaks("another process with another hash seed plays another game")
class OrdersAgentsBySet(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if os.environ.get("PYTHONHASHSEED") == "4321":  # what a set would do at some hash seeds
            self.agents = self.agents[::-1]


@breaks("the world does not play in another process")
class OnlyAtHome(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if os.environ.get("PYTHONHASHSEED") == "4321":
            raise OSError("no room here")
