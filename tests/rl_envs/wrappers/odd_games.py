"""A small PettingZoo environment whose answers a test can change, to break one promise at a time."""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_pettingzoo

LIMIT = 6


class Signal(ParallelEnv):
    """Two agents each see one of three signals and earn 1 for its number; six steps.

    Args:
        change: called with this environment and what `reset` or `step` is about to return, as a list of dicts in the
            API's order (observations first, infos last); what it returns is returned instead.
        names: possible agents.
        observation, action: space of every agent, or agent -> space.
        more: attributes.
    """

    metadata = {"name": "signal"}  # noqa: RUF012
    opened, closed, limit = 0, 0, LIMIT

    def __init__(self, change=None, names=("left", "right"), observation=None, action=None, **more):
        type(self).opened += 1
        self.possible_agents, self.agents = list(names), []
        self.change = change or (lambda env, answer: answer)
        self.observation = observation if observation is not None else spaces.Box(0, 1, (3,), np.float32)
        self.action = action if action is not None else spaces.Discrete(3)
        self.render_mode = "rgb_array"
        self.taken = []
        vars(self).update(more)

    def observation_space(self, agent):
        return self.observation[agent] if type(self.observation) is dict else self.observation

    def action_space(self, agent):
        return self.action[agent] if type(self.action) is dict else self.action

    def seen(self):
        return {name: np.eye(3, dtype=np.float32)[one] for name, one in self.signals.items()}

    def draw(self):
        self.signals = {name: int(self.random.integers(3)) for name in self.possible_agents}

    def reset(self, seed=None, options=None):
        self.random, self.steps, self.agents = np.random.default_rng(seed), 0, list(self.possible_agents)
        self.draw()
        return tuple(self.change(self, [self.seen(), {name: {} for name in self.agents}]))

    def step(self, actions):
        self.taken.append(dict(actions))
        self.steps += 1
        here, is_over = list(self.agents), self.steps == self.limit
        reward = {name: self.pay(name, actions[name]) for name in here}
        self.draw()
        seen = {name: one for name, one in self.seen().items() if name in here}
        self.agents = [] if is_over else here
        flags = [dict.fromkeys(here, is_over), dict.fromkeys(here, False)]
        return tuple(self.change(self, [seen, reward, *flags, {name: {} for name in here}]))

    def pay(self, name, action):
        return float(action == self.signals[name])

    def render(self):
        return np.zeros((4, 5, 3), np.uint8)

    def close(self):
        type(self).closed += 1


def at(step, change):
    """A change of what is returned at one step, 0 for reset: `change(answer)`."""

    def changed(env, answer):
        return (change(answer) or answer) if env.steps == step else answer

    return changed


def put(part, agent, value):
    """Replace one agent's entry: `part` is the place in what is returned, such as 0 for the observation."""

    def change(answer):
        answer[part] = {**answer[part], agent: value}

    return change


def without(part, agent):
    """Leave one agent's entry out."""

    def change(answer):
        answer[part] = {name: one for name, one in answer[part].items() if name != agent}

    return change


def played(make_env, env_steps=4, worlds=1, **options):
    """The results of some env steps of first legal actions."""
    world = from_pettingzoo(make_env, worlds, **options)
    try:
        seen, results = world.reset(0), []
        for _ in range(env_steps):
            actions = np.argmax(seen["legal"], -1) if "legal" in seen else np.zeros((worlds, world.num_agents), int)
            results.append(world.step(actions))
            seen = results[-1][0]
        return results
    finally:
        world.close()


def refusal(make_env, **options):
    with pytest.raises(CustomEnvError) as error:
        played(make_env, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def short():
    """At step 3 `left` sees two numbers of three."""
    return Signal(at(3, put(0, "left", np.zeros(2, np.float32))))


_ONE = Signal()


def same():
    """The same object at every call."""
    return _ONE
