"""Who is in the game: the bookkeeping that every multi-agent library asks for, done once.

Agents are always listed in the world's order. This file must not import any library that the views serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Actions, Arrays
from rl_envs.core.world import World
from rl_envs.wrappers.game import Game


@dataclass(frozen=True)
class AgentTurn:
    """What one env step brought to the agents that were in the game before it, each a dict by agent in order.

    Attributes:
        observations: name -> dict of `[...]` arrays.
        rewards: name -> float.
        terminated: the game is over, or this agent has left it.
        truncated: the game was merely stopped while this agent was in it.
        infos: name -> `duration`, and at the episode's end `episode`.
    """

    observations: dict[str, Arrays]
    rewards: dict[str, float]
    terminated: dict[str, bool]
    truncated: dict[str, bool]
    infos: dict[str, dict[str, Any]]


class Roster:
    """A game played by named agents, who leave when they are out of it.

    Attributes:
        game: the one world.
        live: names of the agents in the game, in the world's order.
        last: the present observations of the whole team, dict of `[N, ...]`.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.live: tuple[str, ...] = ()
        self.last: Arrays = {}

    @property
    def world(self) -> World:
        """The world."""
        return self.game.world

    def begin(self, seed: int | None) -> dict[str, Arrays]:
        """Start an episode: the observations of every agent in it."""
        self.last = self.game.begin(seed)
        alive = self._alive()
        self.live = tuple(name for name, lives in zip(self.world.agents, alive, strict=True) if lives)
        return {name: self.seen_by(name) for name in self.live}

    def play(self, actions: Mapping[str, Any]) -> AgentTurn:
        """One env step.

        Args:
            actions: name -> action, for every agent that decides now; agents in the game that do not decide may be
                left out.

        Raises:
            RuntimeError: the episode is over.
            ValueError: an action too many or too few.
        """
        if self.game.is_over or not self.live:
            raise RuntimeError("this episode is over (or none has begun): call reset before step")
        before = self.live
        turn = self.game.play(self._joint(actions))
        self.last = turn.observations
        alive = dict(zip(self.world.agents, self._alive(), strict=True))
        gone = {name: turn.terminated or not alive[name] for name in before}
        stopped = {name: turn.truncated and not gone[name] for name in before}
        self.live = tuple(name for name in before if not (gone[name] or stopped[name]))
        index = {name: i for i, name in enumerate(self.world.agents)}
        return AgentTurn(
            {name: self.seen_by(name) for name in before},
            {name: float(turn.reward[index[name]]) for name in before},
            gone,
            stopped,
            {name: self._info(index[name], turn.duration, turn.episode) for name in before},
        )

    def seen_by(self, name: str) -> Arrays:
        """One agent's observation, dict of fresh arrays."""
        index = self.world.agents.index(name)
        return {key: np.array(value[index]) for key, value in self.last.items()}

    def _alive(self) -> list[bool]:
        alive = self.last.get("alive", np.ones(self.world.num_agents, bool))
        return [bool(lives) for lives in alive]

    def _joint(self, actions: Mapping[str, Any]) -> Actions:
        decides = self.last.get("decides", np.ones(self.world.num_agents, bool))
        needed = {name for name, must in zip(self.world.agents, decides, strict=True) if must and name in self.live}
        missing, unknown = sorted(needed - set(actions)), sorted(set(actions) - set(self.live))
        if missing or unknown:
            raise ValueError(f"actions are missing for {missing} and not wanted for {unknown}; live: {self.live}")
        spec = self.world.action_spec
        if isinstance(spec, dict):
            return {
                factor: np.array([actions[name][factor] if name in actions else 0 for name in self.world.agents])
                for factor in spec
            }
        return np.array([actions.get(name, 0) for name in self.world.agents])

    def _info(self, index: int, duration: Any, episode: Mapping[str, Any]) -> dict[str, Any]:
        info: dict[str, Any] = {"duration": int(duration[index])}
        if episode:
            info["episode"] = {**episode, "return": float(episode["return"][index])}
        return info
