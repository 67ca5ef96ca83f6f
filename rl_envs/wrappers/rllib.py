"""Worlds in stock RLlib, by a config dict `{"world": id, "arguments": {...}}`.

`TeamGymEnv` is for team modules (one player moves all agents), `TeamMultiAgentEnv` for one policy an agent. The latter
is our own rather than RLlib's wrapper of PettingZoo, whose agent order depends on the hash seed, whose `__all__` is
never true when some agents terminate and others truncate, and whose `render` raises. The only file here that imports
Ray; it must not know any particular world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.game import Game
from rl_envs.wrappers.gymnasium import TeamEnv
from rl_envs.wrappers.roster import Roster
from rl_envs.wrappers.spaces import agent_action_space, observation_space


class TeamGymEnv(TeamEnv):
    """`TeamEnv` made from RLlib's config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Make the world that the config names.

        Args:
            config: `world` (id, or a ready world), and optionally `arguments` and `render_mode`.

        Raises:
            ValueError: no world is named.
        """
        super().__init__(_named(config), render_mode=config.get("render_mode"), **dict(config.get("arguments") or {}))


class TeamMultiAgentEnv(MultiAgentEnv):
    """One world with a policy an agent.

    `agents` is the whole team at all times, in the world's order; who is in the game shows in whom observations come
    for. When all end at once, `__all__` is true in one of the two dicts, however differently the agents ended.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's form)

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Make the world that the config names.

        Args:
            config: `world` (id, or a ready world), and optionally `arguments` and `render_mode`.

        Raises:
            ValueError: no world is named.
        """
        self._roster = Roster(Game(_named(config), dict(config.get("arguments") or {})))
        self.world = self._roster.world
        self.agents = list(self.world.agents)
        self.possible_agents = list(self.world.agents)
        super().__init__()
        self.render_mode = config.get("render_mode", "rgb_array" if self._roster.game.can_draw else None)
        self.observation_spaces = {name: observation_space(self.world) for name in self.agents}
        self.action_spaces = {name: agent_action_space(self.world.action_spec) for name in self.agents}

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Arrays], dict[str, dict[str, Any]]]:
        """Begin an episode; without a seed the next one of the world's own chance. `options` are not used."""
        super().reset(seed=seed, options=options)
        observations = self._roster.begin(seed)
        return observations, {name: {} for name in observations}

    def step(  # type: ignore[override]
        self, action_dict: dict[str, Any]
    ) -> tuple[dict[str, Arrays], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One env step; the answers are for the agents that were in the game before it.

        Raises:
            RuntimeError: the episode is over.
            ValueError: an action too many, too few, or out of range.
        """
        turn = self._roster.play(action_dict)
        ended = not self._roster.live
        was_stopped = any(turn.truncated.values())
        terminated = {**turn.terminated, "__all__": ended and not was_stopped}
        truncated = {**turn.truncated, "__all__": ended and was_stopped}
        return turn.observations, turn.rewards, terminated, truncated, turn.infos

    def render(self) -> Array | None:  # type: ignore[override]
        """[H, W, 3] uint8 of the present state; None where the world has no picture."""
        return self._roster.game.picture() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the world."""
        self.world.close()


def check_by_rllib(env: MultiAgentEnv) -> None:
    """RLlib's own check of an environment; it plays one env step.

    Raises:
        ValueError: RLlib's sentence about what is wrong.
    """
    check_multiagent_environments(env)


def _named(config: Mapping[str, Any]) -> Any:
    if "world" not in config:
        raise ValueError('env_config must name a world: {"world": id, "arguments": {...}}; got ' + f"{dict(config)}")
    return config["world"]
