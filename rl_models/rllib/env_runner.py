"""An env runner that returns fragments. PPO and IMPALA of RLlib treat what `sample()` returns as an opaque list.

Sampling is `training.collector.Collector`; weights, metrics and fault tolerance are RLlib's. Worlds are numbered
over all runners, so their split over runners does not change them.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import time
import traceback
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import ray
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.metrics import EPISODE_LEN_MEAN, EPISODE_RETURN_MEAN

from rl_models.batch import Fragment
from rl_models.rllib.module import TeamModule
from rl_models.rllib.private_ray import PrivateEnvRunner
from rl_models.runtime.device import building_for, chosen_device, forbid_gpu
from rl_models.runtime.host_memory import keep_freed_memory
from rl_models.team_world import Array, TeamWorld
from rl_models.training.algorithm import ENDED_EPISODES
from rl_models.training.collector import Collector
from rl_models.training.grouped_collector import GroupedCollector, make_collector, make_groups

PLACEHOLDER_SPACE: gym.Space[Any] = gym.spaces.Discrete(1)
"""Placeholder spaces, which RLlib requires; team modules and fragments do not use them."""

EPISODE = "episode"
"""Metrics of finished episodes, a dictionary a fragment: NAME -> the sum over them, and `count`, their number."""

SAMPLING = "sampling"
"""Metrics of sampling, summed over runners: `sampling/env_steps`, `sampling/seconds`, and of runners that are processes
of their own `sampling/cpu_seconds`."""


@dataclass(frozen=True)
class FailedFragment:
    """In place of a fragment, an environment's error in a runner that Ray has just restarted; the trial fails with it.

    RLlib splits the runners' results over the learners by length. This is longer than all fragments, so every learner
    gets a piece of it; one that got none would wait for the others forever.
    """

    error: Exception
    length: int = 2**30

    def __len__(self) -> int:
        """Length by which RLlib splits batches."""
        return self.length

    def __getitem__(self, part: slice) -> FailedFragment:
        """A piece, with the same error."""
        return FailedFragment(self.error, len(range(*part.indices(self.length))))

    def slice(self, part: slice, len_lookback_buffer: int | None = None) -> FailedFragment:
        """RLlib's name for `failed[part]`."""
        return self[part]

    def env_steps(self) -> int:
        """Number of env steps, 0."""
        return 0


class FragmentEnvRunner(PrivateEnvRunner, SingleAgentEnvRunner):
    """Steps B worlds, in one group or several, and returns one fragment of B x T steps a call."""

    module: TeamModule
    worlds: list[TeamWorld]
    collector: Collector | GroupedCollector
    _seed_offset = 0
    _has_played = False
    _cpu_seconds_logged = 0.0

    def make_env(self) -> None:
        """Build this runner's worlds with `make_world` and `world_groups` of `env_config`; close those before."""
        self.stop()
        if self.worker_index:
            keep_freed_memory()
        if self.worker_index and not self.config.num_gpus_per_env_runner:
            forbid_gpu()  # Ray shows GPUs also to a process that was assigned none
        worlds = self.config.num_envs_per_env_runner
        first = max((self.worker_index or 0) - 1, 0) * worlds
        groups = self.config.env_config["world_groups"]
        make_world, objective = self.config.env_config["make_world"], self.config.learner_config_dict["objective"]
        # Elsewhere RLlib pickles the fragments.
        stays = not self.worker_index and not self.config.num_learners and objective.takes_turns
        self.worlds = make_groups(make_world, worlds, first, groups, chosen_device() if stays else "cpu")
        self.env = SimpleNamespace(
            num_envs=worlds,
            observation_space=PLACEHOLDER_SPACE,
            action_space=PLACEHOLDER_SPACE,
            single_observation_space=PLACEHOLDER_SPACE,
            single_action_space=PLACEHOLDER_SPACE,
            unwrapped=None,
            close=self._close_worlds,
        )
        self.num_envs = worlds
        self.needs_reset = True

    def make_module(self) -> None:
        """Build the team, and the collector that plays with it."""
        with building_for(chosen_device()):
            super().make_module()
        self.module.eval()
        self.module.policy.precision = self.config.learner_config_dict["optimiser"].precision
        if self.env is None:  # the trial's own process, when others sample
            return
        length = self.config.rollout_fragment_length
        needs_values = self.config.learner_config_dict["objective"].needs_values
        self.collector = make_collector(self.worlds, self.module.policy, length, needs_values)

    def _close_worlds(self) -> None:
        for world in self.worlds:
            world.close()

    def sample_fragments(self, force_reset: bool) -> list[Any]:
        """Play T steps in every world, regardless of RLlib's `num_timesteps`: fragments have a fixed size."""
        try:
            fragment = self._play(force_reset)
        except Exception as error:
            # A runner that raises dies and is restarted. RLlib would repeat this a hundred times without a reason.
            is_final = getattr(error, "is_final", False)  # new episodes would not help
            if not self.worker_index or not (is_final or (was_restarted() and not self._has_played)):
                raise
            # PPO samples until it has counted a batch.
            self.count_samples(self.num_envs * self.config.rollout_fragment_length, 0)
            return [FailedFragment(picklable_error(error))]
        self._has_played = True
        return [fragment]

    def _play(self, force_reset: bool) -> Fragment:
        self.collector.version = self.weights_number
        if self.needs_reset or force_reset:
            self.collector.reset(int(self.config.seed or 0) + self._seed_offset + _restarts_offset())
            self.needs_reset = False
        begins = time.perf_counter()
        fragment = self._collect()
        self.metrics.log_value((SAMPLING, "seconds"), time.perf_counter() - begins, reduce="sum")
        self.metrics.log_value((SAMPLING, "env_steps"), fragment.env_steps(), reduce="sum")
        if self.worker_index:
            logged, self._cpu_seconds_logged = self._cpu_seconds_logged, time.process_time()
            self.metrics.log_value((SAMPLING, "cpu_seconds"), self._cpu_seconds_logged - logged, reduce="sum")
        self._log(fragment, self.collector.pop_episodes())
        return fragment

    def _collect(self) -> Fragment:
        # A world that hangs would block forever. This process then logs where it hangs and exits: a runner is
        # restarted, a trial continues from its checkpoint. Calls of custom environments have a timeout of their own
        # with a slightly shorter limit, so their error message comes first.
        faulthandler.dump_traceback_later(1.08 * _timeout_seconds(), exit=True, file=2)  # standard error
        try:
            return self.collector.collect()
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _log(self, fragment: Fragment, episodes: dict[str, Array]) -> None:
        """Log once a fragment: RLlib's metrics cost far more than a step."""
        count = len(episodes["length"]) if episodes else 0
        self.count_samples(fragment.env_steps(), count)
        self.num_env_steps_sampled_lifetime += fragment.env_steps()
        # RLlib's sum would leave out NaN, and count its episodes.
        sums = {name: float(values.sum()) for name, values in episodes.items()}
        self.metrics.log_value(EPISODE, sums | {"count": float(count)}, reduce="item_series")
        if count:  # RLlib's own keys, means of the last fragments
            self.metrics.log_value(EPISODE_RETURN_MEAN, sums["return"] / count, window=10)
            self.metrics.log_value(EPISODE_LEN_MEAN, sums["length"] / count, window=10)

    def get_metrics(self) -> Any:
        """Metrics that were logged since the last call."""
        return self.metrics.reduce()

    def assert_healthy(self) -> None:
        """Fail unless worlds and team exist; raises RuntimeError."""
        if self.env is None or self.module is None:
            raise RuntimeError("this env runner has no worlds or no team")

    def snapshot(self) -> dict[str, Array]:
        """Worlds and recurrent state, for checkpoints; empty before the first sample."""
        return {} if self.env is None or self.needs_reset else self.collector.snapshot()

    def restore_snapshot(self, snapshot: dict[str, Array], seed_offset: int = 0) -> int:
        """Continue from a snapshot, or if it is empty begin new episodes; the number of games that restarted."""
        self._seed_offset = seed_offset
        if not snapshot:
            return 0
        self.collector.restore(snapshot)
        self.needs_reset = False
        return sum(int(world.restarted.sum()) for world in self.worlds if world.restarted is not None)


def picklable_error(error: Exception) -> Exception:
    """An error that another process can raise; a note says where it was raised here."""
    place = traceback.format_exc()
    try:
        sent: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # a local class, other constructor arguments than `args`, or an attribute such as a lock
        sent = RuntimeError(f"{type(error).__name__}: {error}")
    sent.add_note(place)
    return sent


def _restarts_offset() -> int:
    """0, unless Ray restarted this process after a failure: it must not repeat its first episodes."""
    return time.time_ns() % 2**32 if was_restarted() else 0


def was_restarted() -> bool:
    """Whether this is an actor that has failed before."""
    if not ray.is_initialized() or (context := ray.get_runtime_context()).get_actor_id() is None:
        return False  # not available in a driver
    return bool(context.was_current_actor_reconstructed)


def _timeout_seconds() -> float:
    """Timeout of a fragment; slightly below RLlib's own, which only stops waiting."""
    return float(os.environ.get("CONCORD_FRAGMENT_SECONDS", "540"))


def items(logged: Any) -> list[Any]:
    """The items of a series; RLlib's results hold a single one without its list."""
    return logged if isinstance(logged, list) else [logged]


def episode_means(results: dict[str, Any]) -> dict[str, float]:
    """Means over episodes from the runners' logged sums, under `episode/NAME`, and how many; empty if none ended."""
    ended = [sums for sums in items(results.get(EPISODE, [])) if sums["count"]]
    totals = {name: sum(sums[name] for sums in ended) for name in (ended[0] if ended else ())}
    if not (count := totals.pop("count", 0.0)):
        return {}
    return {f"{EPISODE}/{name}": total / count for name, total in totals.items()} | {ENDED_EPISODES: count}


def sampling_speed(results: dict[str, Any]) -> float | None:
    """Env steps a second of one runner while it plays, a mean over the runners; None if no runner played."""
    played = {name: float(np.asarray(value)) for name, value in results.get(SAMPLING, {}).items()}
    return played["env_steps"] / played["seconds"] if played.get("seconds") else None
