"""Turn-based PettingZoo games (AEC) with the parallel API: an env step is one agent's move, and the others wait.

Every observation has `acts_now`, whether the agent chooses at this env step; the world makes `decides` of it. An agent
that has ended is removed at once; a reward that it gets later is refused, and so is one of `last` that `rewards` lacks.
"""

import contextlib
import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.declaration import env_name, peek, time_limit
from rl_envs.wrappers.custom.values import Mismatch, is_true, number, short_repr

ACTS_NOW = "acts_now"
"""Key of the observations: [1] uint8, the agent chooses at this env step."""
WAITS, _ACTS = np.array([0], np.uint8), np.array([1], np.uint8)
_ALONE = "observation"
"""Key of an observation that is no Dict."""


def is_turn_based(env: Any) -> bool:
    """Whether the agents of an environment act in turn (PettingZoo's AEC)."""
    return callable(peek(env, "agent_iter"))


class TurnBased:
    """A turn-based environment with the methods of a PettingZoo parallel environment; `agents` are those in the game.

    Attributes of the environment are read once a move, because each of its wrappers makes that slower.
    """

    takes_turns = True

    def __init__(self, env: Any) -> None:
        self.env = env
        self.agents: list[Any] = []
        self._selected: Any = None
        self._spaces: dict[Any, spaces.Dict] = {}
        self._earned: dict[Any, float] = {}

    @property
    def max_episode_steps(self) -> int | None:
        """Env steps of an episode: environments count rounds in which each agent moves once."""
        limit = time_limit(self.env)
        return None if limit is None else limit[1] * len(self.possible_agents)

    @property
    def possible_agents(self) -> Any:
        """All agents, as the environment lists them."""
        return self.env.possible_agents

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def observation_space(self, agent: Any) -> Any:
        """Space of the observation, with `acts_now`."""
        if agent not in self._spaces:
            self._spaces[agent] = space_in_turn(self.env, agent, self.env.observation_space(agent))
        return self._spaces[agent]

    def action_space(self, agent: Any) -> Any:
        """Space of the actions."""
        return self.env.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Begin an episode."""
        self.env.reset(seed=seed, options=options)
        self._earned = {}
        self._look(self._given("terminations"), self._given("truncations"))
        return {name: self._observed(name) for name in self.agents}, self._infos(self.agents)

    def step(self, actions: Mapping[Any, Any]) -> tuple[dict[Any, Any], ...]:
        """The move of the agent whose turn it is; the actions of all others are ignored."""
        here = self.agents
        self._earned[self._selected] = 0.0
        self.env.step(actions[self._selected])
        earned, *flags = (self._given(what) for what in ("rewards", "terminations", "truncations"))
        rewards = self._without_gone(earned, here)
        terminated, truncated = (self._without_gone(one, here) for one in flags)
        self._selected = None
        ended = [name for name in here if _is_over(name, *flags)]
        self._check_last(ended, rewards)
        last, told = {name: self._observed(name) for name in ended}, self._infos(ended)  # before they are removed
        self._look(*flags)
        self._check_last([] if self._selected is None else [self._selected], {})
        observations = {name: self._observed(name) for name in self.agents} | last
        return observations, rewards, terminated, truncated, self._infos(self.agents) | told

    def render(self) -> Any:
        """The environment's own picture."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _look(self, terminations: Mapping[Any, Any], truncations: Mapping[Any, Any]) -> None:
        """Update the agents in the game and whose turn it is, after finished agents were stepped with None."""
        passed: list[Any] = []
        while agents := self.env.agents:
            selected = self.env.agent_selection
            if selected not in agents:
                raise CustomEnvError(
                    f"{env_name(self.env)}: agent_selection is {selected!r}, who is not in agents, which are "
                    f"{', '.join(map(str, agents))}: let it be the agent whose turn it is"
                )
            if not _is_over(selected, terminations, truncations):
                break
            if selected in passed:
                raise CustomEnvError(
                    f"{env_name(self.env)}: {selected!r} has ended and has a turn after step(None) again: let that "
                    "remove it from agents"
                )
            passed.append(selected)
            self.env.step(None)
            terminations, truncations = self._given("terminations"), self._given("truncations")
        self._selected = selected if agents else None
        self.agents = [name for name in agents if not _is_over(name, terminations, truncations)]

    def _observed(self, name: Any) -> dict[str, Any]:
        observation = copied(self.env.observe(name))  # its arrays may be filled again for the next agent
        return in_turn(observation, name == self._selected)

    def _given(self, what: str) -> Mapping[Any, Any]:
        """An attribute of the environment that maps the names of agents to something."""
        given = getattr(self.env, what)
        if not isinstance(given, Mapping):
            raise CustomEnvError(
                f"{env_name(self.env)}.{what} is {short_repr(given)}: let it be a dict with the names of agents as keys"
            )
        return given

    def _infos(self, names: list[Any]) -> dict[Any, Any]:
        given = self._given("infos")
        return {name: given.get(name) for name in names}

    def _without_gone(self, given: Mapping[Any, Any], here: list[Any]) -> dict[Any, Any]:
        """What is given to agents, but for those that were removed before; `CheckedEnv` refuses unknown names."""
        return {
            name: one
            for name, one in given.items()
            if name in here or name in self.env.agents or name not in self.possible_agents
        }

    def _check_last(self, names: Sequence[Any], rewards: Mapping[Any, Any]) -> None:
        """Refuse what `last` pays these agents beyond all rewards, as PettingZoo's `api_test` does."""
        paid: Any = peek(self.env, "_cumulative_rewards") if names else None
        with contextlib.suppress(Mismatch):  # `CheckedEnv` reports the error
            for name, reward in rewards.items():
                self._earned[name] = self._earned.get(name, 0.0) + number(reward)
            for name in names if isinstance(paid, Mapping) else ():
                total, earned = number(paid.get(name, 0.0)), self._earned.get(name, 0.0)
                if total and math.isfinite(total) and not math.isclose(total, earned, rel_tol=1e-4, abs_tol=1e-6):
                    raise CustomEnvError(
                        f"{env_name(self.env)}: since its last move the rewards of {name!r} add up to {earned:g}, and "
                        f"last() gives {total:g}: put each reward into rewards, and let step set "
                        "_cumulative_rewards of the agent that moves to 0 and call _accumulate_rewards"
                    )


def space_in_turn(env: Any, agent: Any, space: spaces.Space) -> spaces.Dict:
    """The space of an agent's observations with `acts_now`; CustomEnvError where it has such an entry."""
    own = dict(space.spaces) if isinstance(space, spaces.Dict) else {_ALONE: space}
    if ACTS_NOW in own:
        raise CustomEnvError(
            f"the observations of {agent!r} in {env_name(env)} have an entry {ACTS_NOW!r}, which those of agents that "
            "take turns get here: rename it"
        )
    return spaces.Dict(own | {ACTS_NOW: spaces.Box(0, 1, (1,), np.uint8)})


def in_turn(observation: Any, acts: bool) -> dict[str, Any]:
    """An observation with `acts_now`."""
    own = dict(observation) if isinstance(observation, Mapping) else {_ALONE: observation}
    own[ACTS_NOW] = _ACTS if acts else WAITS
    return own


def copied(observation: Any) -> Any:
    """A copy of an observation and of its arrays; what cannot be copied, such as a memoryview, is kept."""
    if isinstance(observation, Mapping):
        return {key: copied(value) for key, value in observation.items()}
    with contextlib.suppress(Exception):  # whatever an object of the environment's own raises
        return copy.deepcopy(observation)
    return observation


def _is_over(name: Any, terminations: Mapping[Any, Any], truncations: Mapping[Any, Any]) -> bool:
    return is_true(terminations.get(name)) or is_true(truncations.get(name))
