"""Rollouts: a policy acts in a batched world, and the steps are written into preallocated fragments.

The world is any `TeamWorld`. Actions are sampled by inverse CDF from the world's own counter-based uniforms, so what an
agent does depends on its world's key alone, not on how many worlds or runners there are. So is the noise of a network
that draws something itself (`rl_models/runtime/added_observations.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_models.batch import Fragment
from rl_models.distributions.factored_mixture import BEFORE_TANH
from rl_models.distributions.joint_policy import JointActions, JointPolicy
from rl_models.policy import State, TeamOutput, TeamPolicy, all_deciding, deciding_agents, fixed_weights
from rl_models.runtime import device as devices
from rl_models.runtime.added_observations import (
    MESSAGES,
    draws_noise,
    make_speech,
    message_uniforms,
    with_final_messages,
    with_noise,
)
from rl_models.runtime.cuda_graph import Graphed, Inputs
from rl_models.runtime.device import PendingHostCopy, to_device, to_host
from rl_models.runtime.texts import ENCODED, TEXTS, OwnsTexts, TextEncodings
from rl_models.team_world import Array, TeamWorld

IS_FIRST, UNIFORMS, DECIDING, STATE = "<is_first>", "<uniforms>", "<deciding>", "<state>/"
"""Names of inputs that are copied to the device beside a step's observations, no names of which are like these; the
state is there already."""


@dataclass(frozen=True)
class _PendingActions:
    """Output of a policy at one step: actions on their way to the host, all outputs [B, 1, ...], and the new state."""

    arriving: PendingHostCopy
    record: dict[str, Tensor]
    state: State


class Collector:
    """Plays B worlds with one team policy, T steps at a time; CUDA graphs are captured where the device can.

    Attributes:
        episodes: for each step since `pop_episodes` with K episodes that ended, metric name -> [K] or [K, N].
        graphed: CUDA graphs of the policy's steps; None until the device can capture any.
    """

    def __init__(self, world: TeamWorld, policy: TeamPolicy, fragment_length: int, needs_values: bool = True) -> None:
        """Prepare fragments of T steps; with `needs_values` (PPO) they record V of the last observation."""
        self.world = world
        self.policy = policy
        self.fragment_length = fragment_length
        self.needs_values = needs_values
        self.version = 0
        self.episodes: list[dict[str, Array]] = []
        self._obs: dict[str, Array] = {}
        self._is_first = np.ones(world.num_worlds, bool)
        self._state: State = {}
        self._final: list[tuple[int, Array, Inputs]] = []  # step, worlds [K] and inputs [K, ...] of truncated episodes
        self._draws = 0
        self.graphed: Graphed | None = None
        self._has_noise = draws_noise(policy.network)
        self._begin_reading()
        self._speech = make_speech(policy.network)

    @property
    def worlds(self) -> list[TeamWorld]:
        """The worlds, as a single group."""
        return [self.world]

    def reset(self, seed: int) -> None:
        """Start new episodes in every world."""
        self._begin_reading()
        self._speech = make_speech(self.policy.network)
        self._obs = self._completed(self.world.reset(seed), all_read=True)
        self._is_first = np.ones(self.world.num_worlds, bool)
        self._state = self.policy.initial_state(self.world.num_worlds)

    def collect(self) -> Fragment:
        """Play T steps in every world."""
        return collect_in_turns([self])[0]

    def _fragment(self) -> Iterator[Fragment | None]:
        """Yields None after the policy was asked for the actions of a step, T times, then the Fragment."""
        state_before = {f"state/{name}": value.numpy() for name, value in to_host(self._state).items()}
        texts = self._begin_texts()
        obs, steps, is_first = self._buffers()
        chosen, self._final = [], []
        for step in range(self.fragment_length):
            _write(obs, step, self._obs)
            is_first[:, step] = self._is_first
            pending = self._start_step()
            yield None
            chosen.append(self._finish_step(steps, step, pending))
        _write(obs, self.fragment_length, self._obs)
        is_first[:, -1] = self._is_first
        record = to_host({name: torch.cat([each[name] for each in chosen], 1) for name in chosen[0]})
        steps |= {name: value.numpy() for name, value in record.items()}
        self._write_final_values(steps["final_values"])
        ends = state_before
        if self.needs_values:
            last = all_deciding(self._obs) | {IS_FIRST: self._is_first}
            ends["last_values"] = self._values(self._inputs(last, self._state))
        versions = np.full(self.world.num_worlds, self.version, np.int64)
        tables = {key: self.world.texts[key].table for key in texts}
        if self._speech is not None:
            tables |= self._speech.tables()
        yield Fragment(obs, is_first, steps, ends, tables, versions)

    def pop_episodes(self) -> dict[str, Array]:
        """Metrics of the episodes that ended since the last call, name -> [K] or [K, N]; empty if none did."""
        episodes, self.episodes = self.episodes, []
        return {name: np.concatenate([part[name] for part in episodes]) for name in episodes[0]} if episodes else {}

    def snapshot(self) -> dict[str, Array]:
        """Everything that the next fragment depends on besides the weights.

        `world/NAME` -> [B, ...] (token tables [D, L]); `state/NAME` -> [B, ...]; `is_first` [B] bool, an episode begins
        at the next step; `version` [] int64, number of updates of the policy.
        """
        world = {f"world/{name}": value for name, value in self.world.snapshot().items()}
        state = {f"state/{name}": _numpy(value).copy() for name, value in self._state.items()}
        return (
            world
            | state
            | {"is_first": _numpy(torch.as_tensor(self._is_first)).copy(), "version": np.array(self.version)}
        )

    def restore(self, snapshot: dict[str, Array]) -> None:
        """Continue exactly where `snapshot`, name -> [B, ...], was taken, with arrays of the same names and shapes."""
        parts = {"world/": {}, "state/": {}}  # type: dict[str, dict[str, Array]]
        for name, value in snapshot.items():
            for prefix, part in parts.items():
                if name.startswith(prefix):
                    part[name.removeprefix(prefix)] = value
        self._begin_reading()
        self._speech = make_speech(self.policy.network)
        self._obs = self._completed(self.world.restore(parts["world/"]), all_read=True)
        # Copied, because arrays read from a file can be read-only.
        self._state = {name: torch.tensor(value, device=self.device) for name, value in parts["state/"].items()}
        restarted = self.world.restarted  # custom environments may have begun a new episode
        self._is_first = np.array(snapshot["is_first"], bool) | (False if restarted is None else restarted)
        self.version = int(snapshot["version"])

    def _start_step(self) -> _PendingActions:
        """Ask the policy for actions. An accelerator goes on computing after this returns."""
        seen = self._seen()
        mask = deciding_agents(seen)
        beside = {IS_FIRST: self._is_first, UNIFORMS: self._uniforms()}
        beside |= {} if mask is None else {DECIDING: mask}
        record = self.decide(self._inputs(seen | beside, self._state))
        state = {name.removeprefix(STATE): record.pop(name) for name in list(record) if name.startswith(STATE)}
        actions = {name: value for name, value in record.items() if name.partition("/")[0] == "actions"}
        return _PendingActions(PendingHostCopy(actions), record, state)

    def decide(self, inputs: Inputs) -> dict[str, Tensor]:
        """`compute_decision`; a GPU replays it once it is known how many uniforms it takes."""
        if self.graphed is None or not self._draws:
            return self.compute_decision(inputs)
        return self.graphed(self.compute_decision, inputs)

    def compute_decision(self, inputs: Inputs) -> dict[str, Tensor]:
        """Output of the policy at one step, name -> [B, 1, ...], and its `state/NAME` after it.

        It depends on the inputs and on weights alone, so that a GPU can capture it (`cuda_graph.py`).
        """
        uniforms, mask = inputs[UNIFORMS], inputs.get(DECIDING)
        output = self._output(inputs)
        if uniforms.shape[-1] < output.policy.num_uniforms:  # at the first step it is not known how many it takes
            self._draws = output.policy.num_uniforms
            uniforms = to_device({UNIFORMS: self._uniforms()}, self.device)[UNIFORMS][:, None]
        actions, component = self._choose(output.policy, uniforms)
        decision = _flat(actions) | {
            "component": component,
            "log_prob": output.policy.log_prob(actions, mask),
            "agent_log_prob": output.policy.component_log_prob(actions, component),
            "values": output.values,
        }
        return decision | {STATE + name: value for name, value in output.state.items()}

    def _finish_step(self, steps: dict[str, Array], step: int, pending: _PendingActions) -> dict[str, Tensor]:
        """Wait for the actions, step the worlds, and write their results; the policy's outputs, name -> [B, 1, ...]."""
        seen, reward, terminated, truncated, info = self.world.step(world_actions(pending.arriving.wait()))
        # A fragment begins and ends with values of all agents, so there all agents read.
        self._obs = self._completed(seen, all_read=step + 1 == self.fragment_length)
        for name, array in (("reward", reward), ("terminated", terminated), ("truncated", truncated)):
            steps[name][:, step] = array
        self._state = pending.state
        self._is_first = terminated | truncated
        if info["done_worlds"].size:
            self.episodes.append(info["episode"])
            self._keep_final_observations(step, truncated, info)
        return pending.record

    def _choose(self, policy: JointPolicy, uniforms: Tensor) -> tuple[JointActions, Tensor]:
        """Joint actions and component, drawn by the worlds' own uniforms [B, 1, U]."""
        return policy.sample(uniforms)

    def _uniforms(self) -> Array:
        """[B, U] in [0, 1), as many as one sample of the policy takes."""
        return self.world.chance.policy_uniforms(self._draws)

    def _seen(self) -> dict[str, Array]:
        """The observations that the policy acts on, name -> [B, N, ...]."""
        return self._obs

    def _completed(
        self, obs: dict[str, Array], worlds: Array | slice = slice(None), all_read: bool = False
    ) -> dict[str, Array]:
        """Observations of these worlds with the noise, texts and messages that agents use before they act.

        Messages are those that agents read who decide, or all of them.
        """
        if self._has_noise:
            obs = with_noise(self.policy.network, self.world.chance, self.world.num_agents, obs, worlds)
        if self._speech is None:
            return obs
        speech, uniforms = self._speech, None
        if speech.draws and MESSAGES not in obs:
            uniforms = message_uniforms(speech, self.world.chance, self.world.num_agents, worlds)
        added = speech.narrate(self._tensors(all_deciding(obs) if all_read else obs), uniforms)
        return obs | {key: value[:, 0].cpu().numpy() for key, value in added.items()}

    def _keep_final_observations(self, step: int, truncated: Array, info: dict[str, Any]) -> None:
        """Keep the final observations of truncated episodes, whose values the fragment needs."""
        done = info["done_worlds"]
        stopped = np.flatnonzero(truncated[done])
        if stopped.size:
            rows = done[stopped]
            # The noise of the current step is that of an episode's first step here, too.
            final = {key: value[stopped] for key, value in info["final_obs"].items()}
            beside = {key: value[rows] for key, value in self._obs.items()}
            if self._speech is not None:
                final = with_final_messages(self._speech, final, beside)
            obs = self._completed(final, rows, all_read=True)
            index = torch.from_numpy(rows).to(self.device)
            state = {name: value.index_select(0, index) for name, value in self._state.items()}
            inputs = self._inputs(all_deciding(obs) | {IS_FIRST: np.zeros(len(rows), bool)}, state)
            self._final.append((step, rows, _with_own_encodings(inputs)))

    def _write_final_values(self, out: Array) -> None:
        """Write values of final observations to [B, T, N]; each call of the network gets at most B of them."""
        kept, self._final = self._final, []
        while kept:
            ends = np.cumsum([len(rows) for _, rows, _ in kept])
            some = max(1, int(np.searchsorted(ends, len(out), "right")))
            now, kept = kept[:some], kept[some:]
            parts = np.split(self._values(_joined([inputs for _, _, inputs in now])), ends[: some - 1])
            for (step, rows, _), values in zip(now, parts, strict=True):
                out[rows, step] = values

    def _values(self, inputs: Inputs) -> Array:
        """V of every agent, [K, N], also of those in the middle of a macro action; 0 of those that left."""
        return _numpy(self._value_tensor(inputs))

    def _value_tensor(self, inputs: Inputs) -> Tensor:
        values = self._output(inputs).values
        return (values * inputs["alive"] if "alive" in inputs else values)[:, 0]

    def _output(self, inputs: Inputs) -> TeamOutput:
        """The policy's output at one step."""
        beside = (IS_FIRST, UNIFORMS, DECIDING)
        obs = {key: value for key, value in inputs.items() if key not in beside and not key.startswith(STATE)}
        state = {key.removeprefix(STATE): value for key, value in inputs.items() if key.startswith(STATE)}
        return self.policy(obs, state, inputs[IS_FIRST])

    def _inputs(self, arrays: dict[str, Array], state: State) -> Inputs:
        """Observations and their additions, name -> [K, ...], with T = 1; encodings of their texts; and the state."""
        return self._tensors(arrays) | {STATE + name: value for name, value in state.items()}

    def _tensors(self, obs: dict[str, Array]) -> dict[str, Tensor]:
        """Observations with T = 1, and encodings of their texts."""
        if self._texts is None:
            columns: dict[str, Any] = {key: value[:, None] for key, value in obs.items()}
            tensors = columns if self.world.gives_tensors else to_device(columns, self.device)
        else:
            tensors = self._texts.inputs(obs)
        return tensors if self._speech is None else tensors | self._speech.inputs()

    def _begin_reading(self) -> None:
        """Find the policy's device and drop all encodings: texts may get other row numbers."""
        self.device = next(self.policy.parameters()).device
        if devices.can_capture(self.device):
            self.graphed = self.graphed or Graphed(self.policy, leaves_gradients=False)
            self.graphed.refresh_weights(self.device)
        network, texts = self.policy.network, self.world.texts
        has_texts = bool(texts) or (isinstance(network, OwnsTexts) and bool(network.own_texts))
        self._texts = TextEncodings(network, texts, self.device) if has_texts else None

    def _begin_texts(self) -> list[str]:
        """Drop texts that no observation uses, with their encodings, so that a fragment's tables stay small."""
        self._begin_reading()
        keys = list(self.world.texts)
        if keys:
            self.world.compact_texts()
            self._obs = self._obs | {key: value for key, value in self.world.observe().items() if key in keys}
        if self._speech is not None:
            self._obs = self._obs | self._speech.keep(self._obs)
        return keys

    def _buffers(self) -> tuple[dict[str, Array], dict[str, Array], Array]:
        worlds, agents, time = self.world.num_worlds, self.world.num_agents, self.fragment_length
        obs = {key: np.empty((worlds, time + 1, *v.shape[1:]), v.dtype) for key, v in self._obs.items()}
        per_agent, per_team = (worlds, time, agents), (worlds, time)
        steps: dict[str, Array] = {
            "final_values": np.zeros(per_agent, np.float32),
            "reward": np.empty(per_agent, np.float32),
            "terminated": np.empty(per_team, bool),
            "truncated": np.empty(per_team, bool),
        }
        return obs, steps, np.empty((worlds, time + 1), bool)


@torch.inference_mode()
@fixed_weights()
def collect_in_turns(collectors: Sequence[Collector]) -> list[Fragment]:
    """One fragment of each collector, all of the same length.

    While an accelerator computes the actions of one, the host steps the worlds of the others. What each plays is what
    it would play alone.
    """
    *_, fragments = zip(*(collector._fragment() for collector in collectors), strict=True)
    return list(fragments)


def _with_own_encodings(inputs: Inputs) -> Inputs:
    """The same inputs with one row of encodings for each agent, since those in the caches are replaced later."""
    own = dict(inputs)
    for name, value in inputs.items():
        if name.startswith(ENCODED):
            key = _text_key(name)
            rows = inputs[key]
            own[name] = value.index_select(0, rows.flatten())
            own[key] = torch.arange(rows.numel(), device=rows.device).view_as(rows)
    return own


def _joined(parts: list[Inputs]) -> Inputs:
    """Inputs of several steps as one batch. Tables of texts only grow, so the last ones are complete."""
    last = parts[-1]
    joined = {
        name: last[name] if name.startswith(TEXTS) else torch.cat([part[name] for part in parts]) for name in last
    }
    for key in {_text_key(name) for name in last if name.startswith(ENCODED)}:
        joined[key] = torch.arange(joined[key].numel(), device=joined[key].device).view_as(joined[key])
    return joined


def _text_key(name: str) -> str:
    """The observation key of `encoded/KEY/NAME`."""
    return name.removeprefix(ENCODED).rpartition("/")[0]


def _write(buffers: dict[str, Array], step: int, obs: dict[str, Array]) -> None:
    for key, value in obs.items():
        buffers[key][:, step] = value


def _flat(actions: JointActions) -> dict[str, Tensor]:
    """Actions under the names that a fragment gives them."""
    if isinstance(actions, dict):
        return {f"actions/{name}": value for name, value in actions.items()}
    return {"actions": actions}


def world_actions(flat: dict[str, Array]) -> Array | dict[str, Array]:
    """Actions of `_flat` at one step, [B, 1, N] each, as a world takes them: [B, N], or one such array a factor."""
    if "actions" in flat:
        return flat["actions"][:, 0]
    named = {name.removeprefix("actions/"): value[:, 0] for name, value in flat.items()}
    named.pop(BEFORE_TANH, None)  # the fragment needs it, the world does not
    return named


def to_numpy(actions: JointActions) -> Array | dict[str, Array]:
    """Actions sampled at one step, [B, 1, N], as a world takes them: [B, N], or one such array a factor."""
    return world_actions({name: _numpy(value) for name, value in _flat(actions).items()})


def _numpy(tensor: Tensor) -> Array:
    return tensor.cpu().numpy()
