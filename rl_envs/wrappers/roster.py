"""The agents in the game: bookkeeping by agent name, as PettingZoo and RLlib require.

Agents are always listed in the world's order.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.spec import Actions, Arrays
from rl_envs.core.world import World
from rl_envs.wrappers.single_world import SingleWorld
from rl_envs.wrappers.spaces import agent_action_space, observation_space

AgentSteps: TypeAlias = tuple[
    dict[str, Arrays], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
]
"""The result of one env step by name of the agents that were in the game before it, in order: observations [...],
rewards, whether the game is over or the agent left it, whether the time limit stopped it, and infos: `duration`, and at
the end of the episode `metrics`."""


class Roster:
    """A single world that is stepped by agent name; agents leave when they are out of the game.

    Attributes:
        single_world: the wrapped world.
        live: names of the agents in the game, in the world's order.
        observation_spaces, action_spaces: name -> space of the agent.
        observations: present observations of the whole team, dict of `[N, ...]`.
    """

    def __init__(self, single_world: SingleWorld) -> None:
        self.single_world = single_world
        self.live: tuple[str, ...] = ()
        self.observations: Arrays = {}
        spec, tokens = self.world.action_spec, single_world.text_tokens
        self.observation_spaces = {name: observation_space(self.world, (), tokens) for name in self.world.agents}
        self.action_spaces = {name: agent_action_space(spec, agent) for agent, name in enumerate(self.world.agents)}

    @property
    def world(self) -> World:
        """The wrapped world."""
        return self.single_world.world

    def reset(self, seed: int | None) -> dict[str, Arrays]:
        """Start an episode; returns name -> observation, key -> [...], of every agent in it."""
        self.observations = self.single_world.reset(seed)
        alive = self._alive()
        self.live = tuple(name for name, lives in zip(self.world.agents, alive, strict=True) if lives)
        return {name: self.agent_observation(name) for name in self.live}

    def step(self, actions: Mapping[str, Any]) -> AgentSteps:
        """One env step; live agents that do not decide now may be left out of the actions."""
        if self.single_world.is_over or not self.live:
            raise RuntimeError("this episode is over (or none has begun): call reset before step")
        before = self.live
        turn = self.single_world.step(self._joint(actions))
        self.observations = turn.observations
        alive = dict(zip(self.world.agents, self._alive(), strict=True))
        gone = {name: turn.terminated or not alive[name] for name in before}
        stopped = {name: turn.truncated and not gone[name] for name in before}
        self.live = tuple(name for name in before if not (gone[name] or stopped[name]))
        index = {name: i for i, name in enumerate(self.world.agents)}
        return (
            {name: self.agent_observation(name) for name in before},
            {name: float(turn.reward[index[name]]) for name in before},
            gone,
            stopped,
            {name: self._info(index[name], turn.duration, turn.episode) for name in before},
        )

    def agent_observation(self, name: str) -> Arrays:
        """Observation of one agent, key -> [...], fresh arrays."""
        index = self.world.agents.index(name)
        return {key: np.array(value[index]) for key, value in self.observations.items()}

    def _alive(self) -> list[bool]:
        alive = self.observations.get("alive", np.ones(self.world.num_agents, bool))
        return [bool(lives) for lives in alive]

    def _joint(self, actions: Mapping[str, Any]) -> Actions:
        decides = self.observations.get("decides", np.ones(self.world.num_agents, bool))
        needed = {name for name, must in zip(self.world.agents, decides, strict=True) if must and name in self.live}
        missing, unknown = sorted(needed - set(actions)), sorted(set(actions) - set(self.live))
        if missing or unknown:
            raise ValueError(f"actions are missing for {missing} and not wanted for {unknown}; live: {self.live}")
        spec = self.world.action_spec
        if isinstance(spec, dict):
            wrong = [name for name, one in actions.items() if not isinstance(one, Mapping) or set(one) != set(spec)]
            if wrong:
                raise ValueError(f"the actions of {wrong} must be dicts with the keys {sorted(spec)}")
            return {
                part: np.array(
                    [
                        actions[name][part] if name in actions else 0 if isinstance(size, int) else size.low[index]
                        for index, name in enumerate(self.world.agents)
                    ]
                )
                for part, size in spec.items()
            }
        return np.array([actions.get(name, 0) for name in self.world.agents])

    def _info(self, index: int, duration: Any, episode: Mapping[str, Any]) -> dict[str, Any]:
        info: dict[str, Any] = {"duration": int(duration[index])}
        if episode:
            info["metrics"] = {**episode, "return": float(episode["return"][index])}
        return info
