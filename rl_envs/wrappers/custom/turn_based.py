"""Turn-based PettingZoo games (AEC) with the parallel API: an env step is one agent's move, and the others wait.

Every observation has `acts_now`, whether the agent chooses at this env step; the world makes `decides` of it. An agent
that has ended is removed at once; a reward that it gets later is refused.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.declaration import env_name, peek, time_limit

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

    def __init__(self, env: Any) -> None:
        self.env = env
        self.agents: list[Any] = []
        self._selected: Any = None
        self._spaces: dict[Any, spaces.Dict] = {}
        limit, agents = time_limit(env), len(peek(env, "possible_agents") or ())
        self.max_episode_steps = limit[1] * agents if limit is not None else None
        """Env steps of an episode: environments count rounds in which each agent moves once."""

    @property
    def possible_agents(self) -> Any:
        """All agents, as the environment lists them."""
        return self.env.possible_agents

    @property
    def render_mode(self) -> Any:
        """How the environment draws."""
        return peek(self.env, "render_mode")

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def observation_space(self, agent: Any) -> Any:
        """Space of the observation, with `acts_now`."""
        if agent not in self._spaces:
            inner = self.env.observation_space(agent)
            own = dict(inner.spaces) if isinstance(inner, spaces.Dict) else {_ALONE: inner}
            self._spaces[agent] = spaces.Dict(own | {ACTS_NOW: spaces.Box(0, 1, (1,), np.uint8)})
        return self._spaces[agent]

    def action_space(self, agent: Any) -> Any:
        """Space of the actions."""
        return self.env.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Begin an episode."""
        self.env.reset(seed=seed, options=options)
        self._look(self.env.terminations, self.env.truncations)
        return {name: self._observed(name) for name in self.agents}, self._infos(self.agents)

    def step(self, actions: Mapping[Any, Any]) -> tuple[dict[Any, Any], ...]:
        """The move of the agent whose turn it is; the actions of all others are ignored."""
        here = self.agents
        self.env.step(actions[self._selected])
        earned, terminations, truncations = self.env.rewards, self.env.terminations, self.env.truncations
        rewards = {name: earned.get(name, 0.0) for name in here}
        if len(earned) > len(here):  # ended agents that are still listed; `CheckedEnv` refuses what they would be paid
            rewards |= {name: one for name, one in earned.items() if name not in here and name in self.env.agents}
        terminated, truncated = (
            {name: bool(flags.get(name, False)) for name in here} for flags in (terminations, truncations)
        )
        self._selected = None
        ended = [name for name in here if terminated[name] or truncated[name]]
        last, told = {name: self._observed(name) for name in ended}, self._infos(ended)  # before they are removed
        self._look(terminations, truncations)
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
        while agents := self.env.agents:
            selected = self.env.agent_selection
            if not (terminations.get(selected, False) or truncations.get(selected, False)):
                break
            self.env.step(None)
            terminations, truncations = self.env.terminations, self.env.truncations
        if agents and selected not in agents:
            raise CustomEnvError(
                f"{env_name(self.env)}: agent_selection is {selected!r}, who is not in agents, which are "
                f"{', '.join(map(str, agents))}: let it be the agent whose turn it is"
            )
        self._selected = selected if agents else None
        self.agents = [name for name in agents if not (terminations.get(name, False) or truncations.get(name, False))]

    def _observed(self, name: Any) -> dict[str, Any]:
        observation = self.env.observe(name)
        own = dict(observation) if isinstance(observation, Mapping) else {_ALONE: observation}
        own[ACTS_NOW] = _ACTS if name == self._selected else WAITS
        return own

    def _infos(self, names: list[Any]) -> dict[Any, Any]:
        given = self.env.infos
        return {name: dict(given.get(name) or {}) for name in names}
