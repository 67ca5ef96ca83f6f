"""PettingZoo environments, built in code, for the tests of teams in games of others."""

import numpy as np
from gymnasium import spaces

from tests.rl_envs.wrappers.odd_games import Signal
from tests.toy_worlds import Errands


class Meeting(Signal):
    """Two agents earn 1 each when they choose the same of three actions; it declares that as a coordination set."""

    coordination_sets = np.eye(3, dtype=bool)[None]
    limit = max_cycles = 4

    def __init__(self, image=False, render_mode=None):
        space = spaces.Box(0, 255, (9, 9, 3), np.uint8) if image else spaces.Box(0, 1, (2,), np.float32)
        super().__init__(self._stop, observation=space, render_mode=render_mode)

    def pay(self, name, action):
        return float(len(set(self.taken[-1].values())) == 1)

    def seen(self):
        is_image = len(self.observation.shape) == 3
        one = self.random.integers(0, 255, (9, 9, 3), np.uint8) if is_image else np.ones(2, np.float32)
        return dict.fromkeys(self.possible_agents, one)

    def render(self):
        return np.full((8, 8, 3), 40 * self.steps, np.uint8)

    @staticmethod
    def _stop(env, answer):
        """The end is a truncation, and infos name the coordination set."""
        seen, *middle, infos = answer
        return [seen, *middle[:1], *middle[:0:-1], {name: {"coordination": 0} for name in infos}]


class Doors(Meeting):
    """Each agent reads which of two doors is locked; the names of the actions never change, and a mask hides one."""

    action_texts = ("open the red door", "open the blue door", "wait")

    def observation_space(self, agent):
        return spaces.Dict({"sign": spaces.Text(32), "action_mask": spaces.MultiBinary(3)})

    def seen(self):
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

    def seen(self):
        return {name: {self.key: one} for name, one in super().seen().items()}


class Departing(Signal):
    """Three agents earn 1 for the action that they see; `short` has 2 actions, not 3, and leaves after 2 of 5 steps."""

    limit, leaves_after = 5, 2
    counts = {"long": 3, "short": 2, "other": 3}  # noqa: RUF012

    def __init__(self, dtype="float32", render_mode=None):
        self.dtype = np.dtype(dtype)
        seen = {name: spaces.Box(0, 1, (count,), self.dtype) for name, count in self.counts.items()}
        chosen = {name: spaces.Discrete(count) for name, count in self.counts.items()}
        super().__init__(names=self.counts, observation=seen, action=chosen, render_mode=render_mode)

    def draw(self):
        self.signals = {name: int(self.random.integers(count)) for name, count in self.counts.items()}

    def seen(self):
        return {name: np.eye(self.counts[name], dtype=self.dtype)[one] for name, one in self.signals.items()}

    def step(self, actions):
        answer = super().step(actions)
        if self.steps == self.leaves_after:
            answer[2]["short"] = True
            self.agents = [name for name in self.agents if name != "short"]
        return answer


class Absent(Departing):
    """`short` is not there from the start."""

    leaves_after = 0

    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed=seed, options=options)
        self.agents = [name for name in self.agents if name != "short"]
        return {name: observations[name] for name in self.agents}, {name: infos[name] for name in self.agents}


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

    def seen(self):
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
    limit = max_cycles = 8

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

    def seen(self):
        seen = {
            "entities": np.eye(3, 2, dtype=np.float32),
            "entity_positions": np.pad(self.posts, ((0, 1), (0, 0))).astype(np.float32),
        }
        places = self.places.astype(np.float32)
        return {"left": seen | {"agent_positions": places}, "right": seen | {"agent_positions": places[::-1]}}


class Declared(Errands):
    """A world with any attributes of its own, all of them keyword arguments, but without that which is `missing`."""

    missing = ""

    def __init__(self, num_worlds=1, first_world=0, num_agents=2, **declared):
        super().__init__(num_worlds, first_world, num_agents=num_agents)
        vars(self).update(declared)

    def __getattribute__(self, name):
        if name == super().__getattribute__("missing"):
            raise AttributeError(name)
        return super().__getattribute__(name)


def declared():
    """A function where a class is wanted."""
    return Declared()
