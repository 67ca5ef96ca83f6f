"""Worlds as environments of stock RLlib, from a config dict `{"world": id, "arguments": {...}, "text_tokens": False}`.

`TeamGymEnv` is for team modules (one player controls all agents), `TeamMultiAgentEnv` for one policy per agent. We do
not use RLlib's wrapper of PettingZoo: its agent order depends on the hash seed, its `__all__` is never true when some
agents terminate and others truncate, and its `render` raises. This is the only file of rl_envs that imports Ray. The
config may also name a `render_mode`; any other key is refused.
"""

from collections.abc import Mapping
from typing import Any

from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from rl_envs.core.arguments import whole
from rl_envs.core.errors import did_you_mean
from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.gymnasium import TeamEnv
from rl_envs.wrappers.roster import AgentSteps, Roster
from rl_envs.wrappers.single_world import SingleWorld, checked_render_mode

_KEYS = ("world", "arguments", "text_tokens", "render_mode")


class TeamGymEnv(TeamEnv):
    """`TeamEnv`, built from RLlib's config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Build the world that the config names.

        Raises ValueError where the config names no world, has an unknown key, or an unsupported render mode.
        """
        mode, tokens = config.get("render_mode"), config.get("text_tokens", False)
        super().__init__(_named(config), mode, text_tokens=tokens, **dict(config.get("arguments") or {}))


class TeamMultiAgentEnv(MultiAgentEnv):
    """One world as an RLlib `MultiAgentEnv`, for one policy per agent.

    `agents` is always the whole team, in the world's order; observations come for the agents that are in the game. At
    the end of an episode `__all__` is true in exactly one of the two dicts, also if some agents terminate and others
    truncate.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's form)

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Build the world that the config names.

        Raises ValueError where the config names no world, has an unknown key, or an unsupported render mode.
        """
        arguments, text_tokens = dict(config.get("arguments") or {}), config.get("text_tokens", False)
        self._roster = Roster(SingleWorld(_named(config), arguments, text_tokens))
        self.world = self._roster.world
        self.agents = list(self.world.agents)
        self.possible_agents = list(self.world.agents)
        super().__init__()
        default = "rgb_array" if self._roster.single_world.can_render else None
        self.render_mode = checked_render_mode(config.get("render_mode", default), self.world)
        self.observation_spaces, self.action_spaces = self._roster.observation_spaces, self._roster.action_spaces

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Arrays], dict[str, dict[str, Any]]]:
        """Begin an episode; without a seed, the next one of the world's own chance. `options` are ignored.

        Raises ValueError where the seed is no whole number.
        """
        seed = None if seed is None else whole("seed", seed)
        super().reset(seed=seed, options=options)
        observations = self._roster.reset(seed)
        return observations, {name: {} for name in observations}

    def step(self, action_dict: dict[str, Any]) -> AgentSteps:  # type: ignore[override]
        """One env step; every returned dict has the agents that were in the game before it.

        Observations are agent -> key -> [...]. Raises RuntimeError where the episode is over, and ValueError where an
        action is missing, unexpected or out of range.
        """
        observations, rewards, terminated, truncated, infos = self._roster.step(action_dict)
        ended, was_stopped = not self._roster.live, any(truncated.values())
        terminated["__all__"], truncated["__all__"] = ended and not was_stopped, ended and was_stopped
        return observations, rewards, terminated, truncated, infos

    def render(self) -> Array | None:  # type: ignore[override]
        """Image of the present state, [H, W, 3] uint8; None where the world does not render."""
        return self._roster.single_world.render() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the world."""
        self.world.close()


def check_by_rllib(env: MultiAgentEnv) -> None:
    """RLlib's own check of an environment, which plays one env step.

    Raises ValueError with RLlib's description of the fault.
    """
    check_multiagent_environments(env)


def _named(config: Mapping[str, Any]) -> Any:
    for key in config:
        if key not in _KEYS:
            cure = did_you_mean(str(key), _KEYS, f"its keys are {', '.join(_KEYS)}; a world's own go into arguments")
            raise ValueError(f"env_config has no key {key!r}: {cure}")
    if "world" not in config:
        raise ValueError('env_config must name a world: {"world": id, "arguments": {...}}; got ' + f"{dict(config)}")
    return config["world"]
