"""Rollouts of worlds whose arrays are tensors on the policy's device: nothing goes to the host before a fragment ends.

A step (network, sampling, rules, observations, writing into the fragment) is one function that takes nothing from the
host, and changes tensors that stay where they are. So a GPU captures it as one graph and replays it (`cuda_graph.py`).
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from rl_models.batch import Fragment
from rl_models.policy import State, TeamPolicy, all_deciding, deciding_agents
from rl_models.runtime.added_observations import noise_shape
from rl_models.runtime.cuda_graph import Graphed, Inputs, Outputs
from rl_models.runtime.device import to_host
from rl_models.team_world import Array, TeamWorld
from rl_models.training.collector import DECIDING, IS_FIRST, STATE, UNIFORMS, Collector, world_actions

Tensors: TypeAlias = dict[str, Any]
"""Name -> tensor, where the protocols of worlds, collectors and fragments have arrays."""

_STEPS_PREPARED = 50
"""Env steps of a validation for which a world is prepared at once."""
_STEP, _OBS, _EPISODE, _ENDED, _STOPS = "step", "obs/", "episode/", "ended", "stops"


class DeviceRollout:
    """Plays a world of tensors for a collector, whose policy acts; its attributes are the present step's.

    Attributes:
        obs: observation key -> [B, N, ...].
        is_first: [B] bool, worlds in which an episode begins.
        state: the policy's recurrent state, name -> [B, ...].
    """

    def __init__(self, collector: Collector, obs: Tensors, is_first: Any, state: State) -> None:
        """Begin with copies of these observations, which the rollout then changes in place.

        Raises ValueError where the team reads texts, sends messages or draws noise, or is on another device than the
        world.
        """
        self._collector = collector
        has_noise = collector._has_noise and noise_shape(collector.policy.network, obs) is not None
        if has_noise or collector._texts is not None or collector._speech is not None:
            raise ValueError("arrays='torch' is for teams without texts, messages and noise: leave it out for this one")
        place, team = next(iter(obs.values())).device.type, collector.device.type
        if place != team:
            raise ValueError(f"device={place!r} of the environment must be where the team is: write device={team!r}")
        self.obs = {key: value.clone() for key, value in obs.items()}
        self.is_first: Any = is_first.clone()
        self.state = {name: value.clone() for name, value in state.items()}
        with torch.inference_mode():
            collector._draws = collector._output(self._inputs()).policy.num_uniforms

    def step(self) -> tuple[Tensors, Tensors, Tensors]:
        """Play one step; the present observations, `is_first` and state become those of the next.

        Returns the policy's output and what the world returned, name -> [B, ...]; `episode/NAME` and `ended`, metrics
        of the episodes that ended; final observations, key -> [B, N, ...]. The last two count where an episode ended.
        """
        world: Any = self._collector.world
        said: Tensors = self._collector.compute_decision(self._inputs())
        state = {name.removeprefix(STATE): said.pop(name) for name in list(said) if name.startswith(STATE)}
        record = {name: value[:, 0] for name, value in said.items()}
        actions = {name: value for name, value in said.items() if name.partition("/")[0] == "actions"}
        seen, reward, terminated, truncated, info = world.step(world_actions(actions))
        record |= {"reward": reward.float(), "terminated": terminated, "truncated": truncated}
        episode = {_EPISODE + name: value for name, value in info["episode"].items()} | {_ENDED: info["ended"]}
        _replace(self.obs, seen)
        _replace(self.state, state)
        self.is_first.copy_(info["ended"])
        return record, episode, info["final_obs"]

    def _inputs(self) -> Inputs:
        """Inputs of the policy's decision, with T = 1."""
        collector = self._collector
        mask = deciding_agents(self.obs)
        beside: Tensors = {IS_FIRST: self.is_first, UNIFORMS: collector._uniforms()}
        beside |= {} if mask is None else {DECIDING: mask}
        return collector._inputs(self.obs | beside, self.state)


class DeviceCollector(Collector):
    """A collector of a world whose arrays are tensors; its fragments are tensors on the same device."""

    def __init__(self, world: TeamWorld, policy: TeamPolicy, fragment_length: int, needs_values: bool = True) -> None:
        """Prepare the rollouts; arguments as of `Collector`."""
        super().__init__(world, policy, fragment_length, needs_values)
        # An episode that is truncated lasts as long as the limit, but for the one that goes on at the beginning.
        self._most_stops = 1 + (fragment_length - 1) // world.max_episode_steps

    def reset(self, seed: int) -> None:
        """Start new episodes in every world."""
        super().reset(seed)
        self._begin_rollout(torch.ones(self.world.num_worlds, dtype=torch.bool, device=self.device))

    def restore(self, snapshot: dict[str, Array]) -> None:
        """Continue exactly where `snapshot` was taken, by a collector of any array library."""
        super().restore(snapshot)
        self._begin_rollout(torch.from_numpy(self._is_first).to(self.device))

    def _completed(self, obs: Tensors, worlds: Array | slice = slice(None), all_read: bool = False) -> Tensors:
        """The observations alone: a rollout refuses teams that need more."""
        return obs

    def _begin_rollout(self, is_first: Any) -> None:
        self._rollout = DeviceRollout(self, self._obs, is_first, self._state)
        self._obs, self._is_first, self._state = self._rollout.obs, self._rollout.is_first, self._rollout.state
        self._kept: Tensors = {}  # name -> [B, T, ...], or [B, T + 1, ...] of observations
        self._finals: Tensors = {}  # name -> [B, K, ...] of the truncated episodes
        self._step = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._stops = torch.zeros(self.world.num_worlds, dtype=torch.int64, device=self.device)
        self.graphed = None  # a capture would change the tensors before these
        self._begin_reading()

    def _fragment(self) -> Iterator[Fragment | None]:
        self._begin_reading()
        with torch.inference_mode(False):  # so that the world can be played on outside of it
            self.world.prepare(self.fragment_length)
        ends: Tensors = {f"state/{name}": value.clone() for name, value in self._state.items()}
        self._step.zero_()
        self._stops.zero_()
        for _ in range(self.fragment_length):
            if self.graphed is None:
                self._play({_STEP: self._step})
            else:
                self.graphed(self._play, {_STEP: self._step})
            yield None
        self._write_observations(self._step)
        if self.needs_values:
            ends["last_values"] = self._value(self._obs, self._state, self._is_first)
        self._keep_episodes()
        kept = {name: value for name, value in self._kept.items() if name != _ENDED and not name.startswith(_EPISODE)}
        kept["final_values"] = self._final_values()
        with torch.inference_mode(False):  # for the learner, and the next fragment is written into the same places
            kept, ends = ({name: value.clone() for name, value in each.items()} for each in (kept, ends))
        obs = {name.removeprefix(_OBS): kept.pop(name) for name in list(kept) if name.startswith(_OBS)}
        versions: Any = torch.full((self.world.num_worlds,), self.version, device=self.device)
        yield Fragment(obs, kept.pop(IS_FIRST), kept, ends, {}, versions)

    def _play(self, inputs: Inputs) -> Outputs:
        """Play one step and write it into the fragment, at the step [1] of the inputs."""
        step = inputs[_STEP]
        self._write_observations(step)
        record, episode, final_obs = self._rollout.step()
        self._write(step, record | episode, self.fragment_length)
        self._keep_finals(step, record["truncated"], final_obs)
        self._step.add_(1)
        return {}

    def _write_observations(self, step: Tensor) -> None:
        seen = {_OBS + key: value for key, value in self._obs.items()} | {IS_FIRST: self._is_first}
        self._write(step, seen, self.fragment_length + 1)

    def _write(self, step: Tensor, values: Tensors, length: int) -> None:
        for name, value in values.items():
            if name not in self._kept:
                self._kept[name] = value.new_empty(len(value), length, *value.shape[1:])
            self._kept[name].index_copy_(1, step, value[:, None])

    def _keep_finals(self, step: Tensor, truncated: Tensor, final_obs: Tensors) -> None:
        """Keep final observations of truncated episodes, the state after them, and the step."""
        places = torch.arange(self._most_stops, device=self.device)
        is_next = truncated[:, None] & (self._stops[:, None] == places)
        values = {_OBS + key: value for key, value in final_obs.items()} | {_STEP: step.expand(len(truncated))}
        for name, value in (values | {STATE + name: value for name, value in self._state.items()}).items():
            if name not in self._finals:
                self._finals[name] = value.new_zeros(len(value), self._most_stops, *value.shape[1:])
            kept = self._finals[name]
            torch.where(is_next.view(*is_next.shape, *[1] * (kept.ndim - 2)), value[:, None], kept, out=kept)
        self._stops += truncated

    def _final_values(self) -> Tensor:
        """Values of final observations where an episode was truncated, else 0, [B, T, N]."""
        found, goes_on = torch.zeros_like(self._kept["reward"]), torch.zeros_like(self._rollout.is_first)
        for number in range(self._most_stops):
            final = {name: value[:, number] for name, value in self._finals.items()}
            obs = {name.removeprefix(_OBS): value for name, value in final.items() if name.startswith(_OBS)}
            state = {name.removeprefix(STATE): value for name, value in final.items() if name.startswith(STATE)}
            values = self._value(obs, state, goes_on)
            values = torch.where((self._stops > number)[:, None], values, 0.0)
            found.scatter_add_(1, final[_STEP][:, None, None].expand_as(values[:, None]), values[:, None])
        return found

    def _value(self, obs: Tensors, state: State, is_first: Any) -> Tensor:
        """V of every agent in the game, [B, N]."""
        return self._value_tensor(self._inputs(all_deciding(obs) | {IS_FIRST: is_first}, state))

    def _keep_episodes(self) -> None:
        """Copy the metrics of all ended episodes to the host at once.

        Raises ValueError where a world truncates episodes before its limit, so that final observations are missing.
        """
        kept = {name: value for name, value in self._kept.items() if name == _ENDED or name.startswith(_EPISODE)}
        arrays = to_host(kept | {_STOPS: self._stops})
        if (arrays.pop(_STOPS) > self._most_stops).any():
            raise ValueError(
                "arrays='torch' is for environments that truncate no episode before max_episode_steps: leave it out"
            )
        if found := ended_episodes(arrays):
            self.episodes.append(found)


def ended_episodes(metrics: Tensors, most: int | None = None) -> dict[str, Array]:
    """Metrics of the episodes that ended, in the order in which they did, name -> [K, ...]; empty if none did.

    From `ended` [B, T] bool and `episode/NAME` [B, T, ...], on the host; the first `most` of each world count, None for
    all.
    """
    arrays = {name: value.numpy() for name, value in metrics.items()}
    ended = arrays.pop(_ENDED)
    counts = ended if most is None else ended & (ended.cumsum(1) <= most)
    steps, worlds = np.nonzero(counts.T)
    return {name.removeprefix(_EPISODE): value[worlds, steps] for name, value in arrays.items()} if len(steps) else {}


def play_episodes(collector: Collector, seed: int, episodes_per_world: int) -> dict[str, Array]:
    """Metrics of the first episodes of every world, name -> [B * K, ...], as `Evaluation.run`; copied at once."""
    world, device = collector.world, collector.device
    collector.graphed = Graphed(collector.policy, leaves_gradients=False)
    collector.graphed.refresh_weights(device)
    with torch.inference_mode(False):  # so that the world can be played on outside of it
        obs, is_first = world.reset(seed), torch.ones(world.num_worlds, dtype=torch.bool, device=device)
    rollout = DeviceRollout(collector, obs, is_first, collector.policy.initial_state(world.num_worlds))
    same, played = {_STEP: torch.zeros(1, dtype=torch.int64, device=device)}, []
    for step in range(episodes_per_world * world.max_episode_steps):
        if step % _STEPS_PREPARED == 0:
            with torch.inference_mode(False):
                world.prepare(_STEPS_PREPARED)
        played.append(collector.graphed(lambda inputs: rollout.step()[1], same))
    metrics = {name: torch.stack([each[name] for each in played], 1) for name in played[0]}
    return ended_episodes(to_host(metrics), episodes_per_world)


def _replace(places: Tensors, values: Tensors) -> None:
    for name, place in places.items():
        place.copy_(values[name])
