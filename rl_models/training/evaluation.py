"""Evaluation: the first episodes of B fixed worlds, actions sampled or greedy, policy metrics averaged over steps.

Counting only the first K episodes of every world keeps short episodes from being over-represented. Metrics of the
policy (invalid probability, TVD) are averaged over the steps of an episode, then over episodes.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from rl_models.distributions.joint_policy import JointActions, JointPolicy, choose
from rl_models.policy import TeamOutput, TeamPolicy, fixed_weights
from rl_models.runtime.added_observations import make_speech
from rl_models.runtime.cuda_graph import Inputs
from rl_models.runtime.device import to_device
from rl_models.team_world import Array, TeamWorld
from rl_models.training.collector import Collector
from rl_models.training.device_collector import play_episodes

Probe: TypeAlias = Callable[[TeamOutput, dict[str, torch.Tensor]], dict[str, torch.Tensor]]
"""Function of a step's output ([B, 1] batch) and observations ([B, 1, N, ...]); returns name -> [B, 1, ...]."""

TEXTS_KEPT_FOR = 100
"""Env steps after which unused texts are dropped, as a collector does at each fragment."""


class Evaluation(Collector):
    """A collector that plays fixed episodes and keeps metrics instead of fragments."""

    def __init__(
        self,
        world: TeamWorld,
        policy: TeamPolicy,
        probe: Probe | None = None,
        is_greedy: bool | None = None,
        draws_noise: bool = True,
    ) -> None:
        """Set up the evaluation.

        `is_greedy` takes the most likely actions; None: only of a policy that explores. Without `draws_noise` a
        stochastic network takes its most probable choices. Raises ValueError for a probe in a world of tensors.
        """
        if probe is not None and world.gives_tensors:
            raise ValueError("arrays='torch' has no metrics of the policy: leave it out of this evaluation")
        super().__init__(world, policy, fragment_length=1, needs_values=False)
        self._has_noise = self._has_noise and draws_noise
        self._probe = probe
        self.is_greedy = is_greedy
        self._sums: dict[str, Array] = {}

    @torch.inference_mode()
    @fixed_weights()
    def run(self, seed: int, episodes_per_world: int = 1) -> dict[str, Array]:
        """Metrics of the first K episodes of every world, name -> [B * K] float64 (`return`: [B * K, N]).

        With the world's arguments the seed fixes every start, for any policy. Episodes are in the order in which they
        ended.
        """
        if self.world.gives_tensors:
            self._begin_reading()
            return play_episodes(self, seed, episodes_per_world)
        self.reset(seed)
        worlds = self.world.num_worlds
        counted, rows, played = np.zeros(worlds, int), [], 0
        length = np.zeros(worlds)
        self._sums = {}
        _, steps, _ = self._buffers()
        while counted.min() < episodes_per_world:
            if played and played % TEXTS_KEPT_FOR == 0:
                self._begin_texts()
            self._step(steps, 0)
            played += 1
            length += 1
            if not self._is_first.any():
                continue
            done = np.flatnonzero(self._is_first)
            fresh = counted[done] < episodes_per_world
            means = {name: (total[done].T / length[done]).T for name, total in self._sums.items()}
            episode = self.pop_episodes() | means
            rows.append({name: value[fresh] for name, value in episode.items()})
            counted[done] += 1
            length[done] = 0
            for total in self._sums.values():
                total[done] = 0
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def _step(self, steps: dict[str, Array], step: int) -> dict[str, torch.Tensor]:
        """Play one step; returns the policy's output, name -> [B, 1, ...], on its device."""
        return self._finish_step(steps, step, self._start_step())

    def decide(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        """The decision, never replayed."""
        return self.compute_decision(inputs)  # a probe or a subclass copies numbers to the host

    def _choose(self, policy: JointPolicy, uniforms: torch.Tensor) -> tuple[JointActions, torch.Tensor]:
        return choose(policy, uniforms, self.is_greedy)

    def _completed(
        self, obs: dict[str, Array], worlds: Array | slice = slice(None), all_read: bool = False
    ) -> dict[str, Array]:
        self._speech = make_speech(self.policy.network)  # texts of earlier steps are not read here
        return super()._completed(obs, worlds)  # nor are values, for which a fragment of one step has all messages

    def _output(self, inputs: Inputs) -> TeamOutput:
        output = super()._output(inputs)
        if self._probe is not None:
            # The worlds' observations, because in the inputs row numbers of texts refer to encodings.
            obs = {key: value[:, None] for key, value in to_device(self._seen(), self.device).items()}
            for name, value in self._probe(output, obs).items():
                total = self._sums.setdefault(name, np.zeros((len(value), *value.shape[2:])))
                total += value[:, 0].cpu().numpy()
        return output

    def _keep_final_observations(self, step: int, truncated: Array, info: dict[str, Any]) -> None:
        """Values are not needed here."""
