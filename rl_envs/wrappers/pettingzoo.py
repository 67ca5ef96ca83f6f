"""A world as a PettingZoo parallel environment."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from rl_envs.core.spec import Array, Arrays
from rl_envs.core.world import World
from rl_envs.wrappers.roster import AgentSteps, Roster
from rl_envs.wrappers.single_world import SingleWorld, checked_render_mode
from rl_envs.wrappers.spaces import observation_space


class TeamParallelEnv(ParallelEnv):
    """One world as a `pettingzoo.ParallelEnv`; agents keep the names and the order of the world.

    An agent that is out of the game terminates and leaves `agents`. After the end of an episode `step` is refused.
    Agents that do not act at this step stay in `agents`: `decides` of their observation is false, and their action
    is ignored and may be left out. The last infos of an episode hold the world's `metrics`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4, "is_parallelizable": True}  # noqa: RUF012

    def __init__(
        self, world: World | str, render_mode: str | None = None, *, text_tokens: bool = False, **arguments: Any
    ) -> None:
        """Wrap a world.

        Args:
            world: a world of B = 1, or a registered id.
            render_mode: `rgb_array` or None.
            text_tokens: give tokens instead of the ids of constant texts, such as a manual's sentences.
            arguments: keyword arguments for a registered id.

        Raises:
            ValueError: an unknown id, B above 1, or an unsupported render mode.
        """
        self._roster = Roster(SingleWorld(world, arguments, text_tokens))
        self.world = self._roster.world
        self.render_mode = checked_render_mode(render_mode, self.world)
        self.metadata = {**type(self).metadata, "name": type(self.world).__name__}
        self.possible_agents = list(self.world.agents)
        self.agents: list[str] = []
        self.observation_spaces, self.action_spaces = self._roster.observation_spaces, self._roster.action_spaces
        size = spaces.flatdim(observation_space(self.world, (len(self.possible_agents),), text_tokens))
        self.state_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of this agent's observation, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """Space of this agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Arrays], dict[str, dict[str, Any]]]:
        """Begin an episode; without a seed, the next one of the world's own chance. `options` are ignored.

        Returns agent -> observation, key -> [...], and agent -> {}.
        """
        observations = self._roster.reset(seed)
        self.agents = list(self._roster.live)
        return observations, {name: {} for name in self.agents}

    def step(self, actions: dict[str, Any]) -> AgentSteps:
        """One env step; every returned dict has the agents that were in the game before it.

        Observations are agent -> key -> [...]. Raises RuntimeError where the episode is over, and ValueError where an
        action is missing, unexpected or out of range.
        """
        turn = self._roster.step(actions)
        self.agents = list(self._roster.live)
        return turn

    def state(self) -> Array:
        """Observations of all agents, flattened and joined key by key into one vector, [F] float32 (`state_space`)."""
        return np.concatenate([np.ravel(value).astype(np.float32) for value in self._roster.observations.values()])

    def render(self) -> Array | None:
        """Image [H, W, 3] uint8 in mode `rgb_array`, else None."""
        return self._roster.single_world.render() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the world."""
        self._roster.world.close()
