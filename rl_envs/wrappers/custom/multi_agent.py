"""Environments with RLlib's `MultiAgentEnv` API as PettingZoo parallel environments.

In RLlib, the agents with an observation act next. If `reset` observes all agents, they act at every env step. Otherwise
they take turns, as in `TurnBased`: `acts_now` says who acts, and the others see their last observation again, or a
constant before their first one.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.declaration import env_name, peek
from rl_envs.wrappers.custom.turn_based import copied, in_turn, space_in_turn
from rl_envs.wrappers.custom.values import is_true, short_repr

_ALL, _COMMON = "__all__", "__common__"
"""Keys beside the names of agents: the end of the episode in flags, and infos of no agent."""


def is_multi_agent(env: Any) -> bool:
    """Whether an environment has the API of RLlib's `MultiAgentEnv`."""
    return all(callable(peek(env, method)) for method in ("get_observation_space", "get_action_space"))


class MultiAgent:
    """A `MultiAgentEnv` with the methods of a PettingZoo parallel environment; `agents` are those in the game."""

    def __init__(self, env: Any) -> None:
        """List the agents, and reset the environment to see whether they take turns."""
        self.env, self.takes_turns = env, False
        listed = (peek(env, name) for name in ("possible_agents", "agents", "observation_spaces", "_agent_ids"))
        self.possible_agents = list(next(filter(None, listed), ()))
        if peek(env, "_agent_ids"):  # RLlib fills possible_agents from this set, in another order in every process
            self.possible_agents.sort(key=str)
        self.agents: list[Any] = []
        self._acts: set[Any] = set()
        self._seen: dict[Any, Any] = {}
        self._unseen: dict[Any, Any] = {}
        self.takes_turns = len(self.reset()[0]) < len(self.possible_agents)
        if self.takes_turns:
            self._unseen = {name: _constant(env.get_observation_space(name)) for name in self.possible_agents}

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def observation_space(self, agent: Any) -> Any:
        """Space of the observation, with `acts_now` where agents take turns."""
        space = self.env.get_observation_space(agent)
        return space_in_turn(self.env, agent, space) if self.takes_turns else space

    def action_space(self, agent: Any) -> Any:
        """Space of the actions."""
        return self.env.get_action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Begin an episode."""
        observations, infos = self._dicts("reset", self.env.reset(seed=seed, options=options), 2)
        self.agents = list(self.possible_agents)
        self._seen = dict(self._unseen)
        return self._observed(observations), _without(infos, _COMMON)

    def step(self, actions: Mapping[Any, Any]) -> tuple[dict[Any, Any], ...]:
        """One env step, with the actions of the agents that act now."""
        acting = {name: one for name, one in actions.items() if name in self._acts}
        observations, rewards, *flags, infos = self._dicts("step", self.env.step(acting), 5)
        if _ALL not in flags[0]:
            raise CustomEnvError(
                f"{env_name(self.env)}: terminateds of step has no {_ALL!r}: let it be True where the episode ends, "
                "else False"
            )
        terminated, truncated = (
            dict.fromkeys(self.agents, True)
            if is_true(one.get(_ALL))
            else dict.fromkeys(self.agents, False) | _without(one, _ALL)
            for one in flags
        )
        rewards = dict.fromkeys(self.agents if self.takes_turns else (), 0.0) | rewards
        shown = self._observed(observations)
        self.agents = [name for name in self.agents if not (is_true(terminated[name]) or is_true(truncated[name]))]
        return shown, rewards, terminated, truncated, _without(infos, _COMMON)

    def render(self) -> Any:
        """The environment's own picture."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _dicts(self, method: str, answer: Any, count: int) -> Any:
        if isinstance(answer, (tuple, list)) and len(answer) == count and all(isinstance(one, dict) for one in answer):
            return answer
        raise CustomEnvError(
            f"{method} of {env_name(self.env)} returned {short_repr(answer)}: let it return {count} dicts"
        )

    def _observed(self, observations: dict[Any, Any]) -> dict[Any, Any]:
        """Observations of the agents that act next, and of those that wait."""
        self._acts = set(observations)
        if not self.takes_turns:
            return observations
        self._seen |= copied(observations)  # the environment may write into them later
        names = dict.fromkeys([*self.agents, *observations])
        return {name: in_turn(self._seen[name], name in self._acts) for name in names}


def _constant(space: Any) -> Any:
    """An element of a space: 0, or the nearest to it, in boxes, and the same draw at each call in other spaces."""
    if isinstance(space, spaces.Dict):
        return {key: _constant(one) for key, one in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(map(_constant, space))
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    same = copy.deepcopy(space)
    same.seed(0)
    return same.sample()


def _without(given: dict[Any, Any], key: str) -> dict[Any, Any]:
    return {name: one for name, one in given.items() if name != key}
