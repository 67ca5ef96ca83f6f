"""Noise that a network needs beside the draws of its agents' actions, such as the noise of EnDi's masks.

Noise is an observation: a collector adds uniform numbers to the observations, and they travel with the fragment, so all
epochs use the noise of acting. The numbers come from the world's own stream, with separate draws for each agent.
Without noise a network takes the most probable choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rl_models.fragment import Array
from rl_models.policy import TeamNetwork
from rl_models.team_world import Chance

NOISE = "noise"
"""Observation key of the noise, [B, T, N, ...] float32, uniform in [0, 1]."""
FIRST_DRAW = 2**20
"""Draw number of the first noise; draws with smaller numbers sample the actions."""


@runtime_checkable
class DrawsNoise(Protocol):
    """A network that draws something itself, beside the actions of its agents."""

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Shape of one agent's noise at one step, None for no noise; `obs` is name -> [B, N, ...]."""


def noise_shape(network: TeamNetwork, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Shape of one agent's noise at one step; None for a network without noise.

    Args:
        network: any network.
        obs: present observations, name -> [B, N, ...].
    """
    return network.noise_shape(obs) if isinstance(network, DrawsNoise) else None


def with_noise(
    network: TeamNetwork,
    chance: Chance,
    num_agents: int,
    obs: Mapping[str, Array],
    worlds: slice | NDArray[np.integer] = slice(None),
) -> dict[str, Array]:
    """Observations with the noise that a network needs, name -> [K, N, ...]; unchanged if it needs none.

    Args:
        network: any network.
        chance: random stream of all worlds at this step.
        num_agents: N.
        obs: present observations of K worlds, name -> [K, N, ...].
        worlds: the K worlds among all, a slice or [K] int.
    """
    shape = noise_shape(network, obs)
    if shape is None:
        return dict(obs)
    uniforms = chance.policy_uniforms(num_agents * math.prod(shape), FIRST_DRAW)[worlds]
    return {**obs, NOISE: uniforms.reshape(-1, num_agents, *shape).astype(np.float32)}
