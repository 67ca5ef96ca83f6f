"""Worlds as Gymnasium environments, in which one player controls the whole team.

`TeamEnv` wraps one world, `TeamVectorEnv` all B worlds of a batch. At the end of an episode `episode` has the form of
Gymnasium's RecordEpisodeStatistics, so that Stable-Baselines3 and CleanRL log it: `r` the return, `l` the length in env
steps, `t` the seconds since the episode began. The world's own metrics are under `metrics`.
"""

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rl_envs.core.arguments import flags, whole
from rl_envs.core.spec import Actions, Array, Arrays
from rl_envs.core.world import World
from rl_envs.registry import make
from rl_envs.wrappers.single_world import SingleWorld, checked_render_mode, require_numpy
from rl_envs.wrappers.spaces import forget_texts, observation_space, team_action_space, with_tokens


class TeamEnv(gymnasium.Env):
    """One world as a `gymnasium.Env` whose action is the joint action of all N agents.

    Observations are dicts of `[N, ...]` arrays. An action is `[N]` int, or a dict of such arrays. The reward is the sum
    over the agents. `info` holds `agent_rewards` [N] and `duration` [N], and at the end of an episode `metrics` and
    `episode`. After the end `step` is refused. `reset()` without a seed continues the world's own chance.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's form)

    def __init__(
        self,
        world: World | str,
        render_mode: str | None = None,
        *,
        text_tokens: bool = False,
        episode_statistics: bool = True,
        **arguments: Any,
    ) -> None:
        """Wrap a world.

        Args:
            world: a world of B = 1, or a registered id.
            render_mode: `rgb_array` or None.
            text_tokens: give tokens instead of the ids of constant texts, such as a manual's sentences.
            episode_statistics: report `episode`. Set it to False inside RecordEpisodeStatistics, which reports it
                itself and refuses a second one, and where two equal games must give equal infos.
            arguments: keyword arguments for a registered id.

        Raises:
            ValueError: an unknown id, B above 1, or an unsupported render mode.
        """
        flags(episode_statistics=episode_statistics)
        self.single_world = SingleWorld(world, arguments, text_tokens)
        self.render_mode = checked_render_mode(render_mode, self.single_world.world)
        self.world = self.single_world.world
        self.episode_statistics = episode_statistics
        self.observation_space = observation_space(self.world, (self.world.num_agents,), text_tokens)
        self.action_space = team_action_space(self.world.action_spec, self.world.num_agents)
        self._began = time.perf_counter()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Arrays, dict[str, Any]]:
        """Begin an episode: the observations, name -> [N, ...], and {}; `options` are ignored.

        Raises ValueError where the seed is no whole number.
        """
        seed = None if seed is None else whole("seed", seed)
        super().reset(seed=seed)
        self._began = time.perf_counter()
        return self.single_world.reset(seed), {}

    def step(self, action: Actions) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        """One env step of the whole team: observations [N, ...], the summed reward, terminated, truncated, info.

        The info has `agent_rewards` [N] and `duration` [N], and at the end of an episode its `metrics`. Raises
        RuntimeError where the episode is over, and ValueError for actions of the wrong shape, type or range.
        """
        turn = self.single_world.step(action)
        info: dict[str, Any] = {"agent_rewards": turn.reward, "duration": turn.duration}
        if turn.is_last:
            info["metrics"] = turn.episode
            if self.episode_statistics:
                seconds = round(time.perf_counter() - self._began, 6)
                total = float(turn.episode["return"].sum())
                info["episode"] = {"r": total, "l": int(turn.episode["length"]), "t": seconds}
        return turn.observations, float(turn.reward.sum()), turn.terminated, turn.truncated, info

    def render(self) -> Array | None:  # type: ignore[override]
        """Image [H, W, 3] uint8 in mode `rgb_array`, else None."""
        return self.single_world.render() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the world."""
        self.world.close()


class TeamVectorEnv(VectorEnv):
    """B worlds as a `gymnasium.vector.VectorEnv`; an ended world is reset in the same step (`AutoresetMode.SAME_STEP`).

    Observations are dicts of `[B, N, ...]` arrays; rewards [B] are sums over the agents. `info` holds `agent_rewards`
    [B, N] and `duration` [B, N]. In a step in which worlds ended it also holds `final_obs` ([B] objects: a dict of
    `[N, ...]`, or None) and `final_info` (`metrics` and `episode`: name -> [B, ...]). Each entry has Gymnasium's mask
    [B] beside it, under the same name with a leading underscore.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's form)
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        world: World | str,
        num_envs: int | None = None,
        render_mode: str | None = None,
        *,
        text_tokens: bool = False,
        **arguments: Any,
    ) -> None:
        """Wrap a batch of worlds.

        Args:
            world: a batch of worlds, or a registered id.
            num_envs: B, for a registered id.
            render_mode: `rgb_array` or None.
            text_tokens: give tokens instead of the ids of constant texts, such as a manual's sentences.
            arguments: keyword arguments for a registered id.

        Raises:
            ValueError: an unknown id, arguments for worlds that are already built, worlds in torch, or an unsupported
                render mode.
        """
        flags(text_tokens=text_tokens)
        if isinstance(world, str):
            world = make(world, num_worlds=1 if num_envs is None else num_envs, **arguments)
        elif arguments or num_envs not in (None, world.num_worlds):
            raise ValueError("these worlds are already built; they take neither num_envs nor arguments")
        require_numpy(world)
        self.world = world
        self.num_envs = world.num_worlds
        self.render_mode = checked_render_mode(render_mode, world)
        self.text_tokens = text_tokens
        self.single_observation_space = observation_space(world, (world.num_agents,), text_tokens)
        self.single_action_space = team_action_space(world.action_spec, world.num_agents)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._has_begun = False
        self._began = np.zeros(self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Arrays, dict[str, Any]]:  # type: ignore[override]
        """Begin an episode in every world, or in those of `options["reset_mask"]` ([B] bool).

        Raises:
            ValueError: a list of seeds, a seed that is no whole number, a mask of another shape or type, or a seed and
                a mask were given; one seed fixes all the worlds of a batch.
        """
        if isinstance(seed, (list, tuple)):
            raise ValueError("one seed fixes all the worlds of a batch; give a single number")
        seed = None if seed is None else whole("seed", seed)
        self.world.auto_resets = True  # a wrapper of a single world turns it off
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        if mask.dtype != bool or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be bools of shape ({self.num_envs},), got {mask.dtype} {mask.shape}")
        if not np.all(mask) and (seed is not None or not self._has_begun):
            raise ValueError("one seed fixes all the worlds of a batch; reset_mask goes without a seed, after a reset")
        super().reset(seed=seed)
        if seed is not None or not self._has_begun:
            observations = self.world.reset(self.np_random_seed if seed is None else seed)  # type: ignore[arg-type]
            self._began[:] = time.perf_counter()
        else:
            observations = self.world.next_episode(np.flatnonzero(mask))
            self._began[mask] = time.perf_counter()
        self._has_begun = True
        return self._with_texts(observations), {}

    def step(self, actions: Actions) -> tuple[Arrays, Array, Array, Array, dict[str, Any]]:
        """One env step of every world; observations are [B, N, ...], rewards summed over agents [B] float64.

        The info has `agent_rewards` [B, N] and `duration` [B, N]. Raises ValueError for actions of the wrong shape,
        type or range.
        """
        observations, reward, terminated, truncated, info = self.world.step(actions)
        everywhere = np.ones(self.num_envs, bool)
        infos: dict[str, Any] = {"agent_rewards": reward, "_agent_rewards": everywhere}
        infos |= {"duration": info["duration"], "_duration": everywhere.copy()}
        if info["done_worlds"].size:
            infos |= self._final(info["done_worlds"], self._with_texts(info["final_obs"]), info["episode"])
        seen = self._with_texts(observations)
        forget_texts(self.world)
        return seen, reward.sum(1), terminated, truncated, infos

    def render(self) -> tuple[Array, ...] | None:  # type: ignore[override]
        """One image [H, W, 3] uint8 per world in mode `rgb_array`, else None."""
        if self.render_mode is None:
            return None
        return tuple(self.world.render(index) for index in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the worlds, if they could be built."""
        if hasattr(self, "world"):
            self.world.close()

    def _with_texts(self, observations: Arrays) -> Arrays:
        return with_tokens(self.world, observations, self.text_tokens)

    def _final(self, done: Array, observations: Arrays, episode: Arrays) -> dict[str, Any]:
        mask = np.zeros(self.num_envs, bool)
        mask[done] = True
        final = np.full(self.num_envs, None, object)
        for row, world in enumerate(done):
            final[world] = {key: value[row] for key, value in observations.items()}
        now = time.perf_counter()
        seconds = np.round(now - self._began[done], 6)
        self._began[done] = now
        statistics = {"r": episode["return"].sum(1), "l": episode["length"].astype(np.int64), "t": seconds}
        final_info: dict[str, Any] = {}
        for group, values in (("metrics", episode), ("episode", statistics)):
            final_info |= {group: self._spread(values, mask), f"_{group}": mask.copy()}
        return {"final_obs": final, "_final_obs": mask, "final_info": final_info, "_final_info": mask.copy()}

    def _spread(self, values: Arrays, mask: Array) -> dict[str, Any]:
        """Numbers of the ended worlds, name -> [K, ...], as [B, ...] with their masks."""
        spread: dict[str, Any] = {}
        for name, value in values.items():
            spread[name] = np.zeros((self.num_envs, *value.shape[1:]), value.dtype)
            spread[name][mask] = value
            spread[f"_{name}"] = mask.copy()
        return spread
