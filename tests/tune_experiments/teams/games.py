"""PettingZoo environments, built in code, for the tests of teams in games of others."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from tests.toy_worlds import Errands


class Meeting(ParallelEnv):
    """Two agents earn 1 each when they choose the same of three actions; it declares that as a coordination set."""

    metadata = {"name": "meeting"}  # noqa: RUF012
    coordination_sets = np.eye(3, dtype=bool)[None]
    max_cycles = 4

    def __init__(self, image=False, render_mode=None):
        self.possible_agents = ["left", "right"]
        self.image, self.render_mode = image, render_mode

    def observation_space(self, agent):
        return spaces.Box(0, 255, (9, 9, 3), np.uint8) if self.image else spaces.Box(0, 1, (2,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        return self._seen(), self._infos()

    def step(self, actions):
        self.steps += 1
        paid = float(len(set(actions.values())) == 1)
        before, stopped = self.agents, self.steps == self.max_cycles
        self.agents = [] if stopped else before
        flags = dict.fromkeys(before, False), dict.fromkeys(before, stopped)
        return self._seen(), dict.fromkeys(before, paid), *flags, self._infos()

    def render(self):
        return np.full((8, 8, 3), 40 * self.steps, np.uint8)

    def close(self):
        pass

    def _seen(self):
        one = self.random.integers(0, 255, (9, 9, 3), np.uint8) if self.image else np.ones(2, np.float32)
        return dict.fromkeys(self.possible_agents, one)

    def _infos(self):
        return {name: {"coordination": 0} for name in self.possible_agents}


class Doors(Meeting):
    """Each agent reads which of two doors is locked; the names of the actions never change, and a mask hides one."""

    action_texts = ("open the red door", "open the blue door", "wait")

    def observation_space(self, agent):
        return spaces.Dict({"sign": spaces.Text(32), "action_mask": spaces.MultiBinary(3)})

    def _seen(self):
        locked = self.random.integers(2)
        mask = (np.arange(3) != locked).astype(np.int8)
        seen = {"sign": f"the {('red', 'blue')[locked]} door is locked", "action_mask": mask}
        return dict.fromkeys(self.possible_agents, seen)


class Named(Meeting):
    """`Meeting`, whose observation has one entry of any name."""

    def __init__(self, key, render_mode=None):
        super().__init__(render_mode=render_mode)
        self.key = key

    def observation_space(self, agent):
        return spaces.Dict({self.key: super().observation_space(agent)})

    def _seen(self):
        return {name: {self.key: one} for name, one in super()._seen().items()}


class Departing(ParallelEnv):
    """Three agents earn 1 for the action that they see; `short` has 2 actions, not 3, and leaves after 2 of 5 steps."""

    metadata = {"name": "departing"}  # noqa: RUF012
    leaves_after = 2

    def __init__(self, dtype="float32", render_mode=None):
        self.possible_agents = ["long", "short", "other"]
        self.dtype, self.render_mode = np.dtype(dtype), render_mode

    def observation_space(self, agent):
        return spaces.Box(0, 1, (self._actions(agent),), self.dtype)

    def action_space(self, agent):
        return spaces.Discrete(self._actions(agent))

    def reset(self, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        return self._seen(self.agents), {name: {} for name in self.agents}

    def step(self, actions):
        self.steps += 1
        before = list(self.agents)
        rewards = {name: float(actions[name] == self.wanted[name]) for name in before}
        ended = {name: self.steps == (self.leaves_after if name == "short" else 5) for name in before}
        self.agents = [name for name in before if not ended[name]]
        return self._seen(before), rewards, ended, dict.fromkeys(before, False), {name: {} for name in before}

    def close(self):
        pass

    def _seen(self, names):
        self.wanted = {name: int(self.random.integers(self._actions(name))) for name in names}
        return {name: np.eye(self._actions(name), dtype=self.dtype)[action] for name, action in self.wanted.items()}

    @staticmethod
    def _actions(agent):
        return 2 if agent == "short" else 3


class SeldomDeparting(Departing):
    """The same, but only in every third episode somebody leaves before the others."""

    episodes = 0

    def reset(self, seed=None, options=None):
        self.episodes += 1
        self.leaves_after = 2 if self.episodes % 3 == 0 else 5
        return super().reset(seed, options)


class LockedMeeting(Meeting):
    """`Meeting`, in which a mask hides one of the actions of each agent at each step, sometimes all that they share."""

    def observation_space(self, agent):
        return spaces.Dict({"light": super().observation_space(agent), "action_mask": spaces.MultiBinary(3)})

    def _seen(self):
        masks = {
            name: np.roll([1, 0, 0] if self.random.random() < 0.5 else [1, 1, 0], self.random.integers(3))
            for name in self.possible_agents
        }
        return {
            name: {"light": np.ones(2, np.float32), "action_mask": mask.astype(np.int8)} for name, mask in masks.items()
        }


class Posts(Meeting):
    """Two agents in a room of 4 x 5 earn 1 while each stands at a post of its own; there are two, and room for one."""

    coordination_sets = None
    max_cycles = 8

    def observation_space(self, agent):
        def positions(count):
            return spaces.Box(np.zeros((count, 2), np.float32), np.tile(np.float32([3, 4]), (count, 1)))

        kinds = spaces.Box(0, 1, (3, 2), np.float32)
        return spaces.Dict({"entities": kinds, "entity_positions": positions(3), "agent_positions": positions(2)})

    def action_space(self, agent):
        return spaces.Discrete(4)

    def reset(self, seed=None, options=None):
        self.posts, self.places = np.random.default_rng(seed).integers((0, 0), (4, 5), (2, 2, 2))
        return super().reset(seed, options)

    def step(self, actions):
        moves = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])[list(actions.values())]
        self.places = np.clip(self.places + moves, 0, (3, 4))
        seen, paid, *flags, infos = super().step(actions)
        at = (self.places[:, None] == self.posts).all(-1)
        return seen, dict.fromkeys(paid, float(at.diagonal().all() or at[::-1].diagonal().all())), *flags, infos

    def _seen(self):
        seen = {
            "entities": np.eye(3, 2, dtype=np.float32),
            "entity_positions": np.pad(self.posts, ((0, 1), (0, 0))).astype(np.float32),
        }
        places = self.places.astype(np.float32)
        return {"left": seen | {"agent_positions": places}, "right": seen | {"agent_positions": places[::-1]}}

    def _infos(self):
        return {name: {} for name in self.possible_agents}


class Declared(Errands):
    """A world with any attributes of its own, all of them keyword arguments."""

    def __init__(self, num_worlds=1, first_world=0, **declared):
        super().__init__(num_worlds, first_world)
        vars(self).update(declared)


class Undeclared(Errands):
    """A world without one of the attributes that it must declare."""

    missing = ""

    def __init__(self, num_worlds=1, first_world=0, missing="", num_agents=1):
        super().__init__(num_worlds, first_world, num_agents=num_agents)
        self.missing = missing

    def __getattribute__(self, name):
        if name == super().__getattribute__("missing"):
            raise AttributeError(name)
        return super().__getattribute__(name)


def declared():
    """A function where a class is wanted."""
    return Declared()
