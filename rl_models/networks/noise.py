"""Noise that a network draws for itself beside its agents' actions, such as EnDi's for its masks.

It is an observation like any other: whoever acts lays uniforms over what agents see, and they travel with the fragment,
so that every epoch sees the noise that acted. They come from the world's own stream, each agent's from draws of its
own. Without them a network takes what is likeliest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

NOISE = "noise"
"""Observation key: [B, T, N, ...] float32, uniform in [0, 1]."""
FIRST_DRAW = 2**20
"""Number of the first of these draws among those of a policy; smaller ones sample the actions."""


def noise_shape(network: Any, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
    """How much noise an agent needs at one step; None for a network that draws nothing.

    Args:
        network: any; one that draws has a method `noise_shape`.
        obs: what agents see now, name -> [B, N, ...].
    """
    shape_of = getattr(network, "noise_shape", None)
    return None if shape_of is None else shape_of(obs)


def with_noise(
    network: Any, chance: Any, num_agents: int, obs: Mapping[str, Any], worlds: Any = slice(None)
) -> dict[str, Any]:
    """Observations with what a network's agents draw beside their actions, each for itself; most draw nothing.

    Args:
        network: whose noise it is.
        chance: of all worlds at this moment.
        num_agents: N.
        obs: name -> [K, N, ...].
        worlds: which K of all worlds these are.
    """
    shape = noise_shape(network, obs)
    if shape is None:
        return dict(obs)
    drawn = chance.policy_uniforms(num_agents * math.prod(shape), FIRST_DRAW)[worlds]
    return {**obs, NOISE: drawn.reshape(-1, num_agents, *shape).astype(np.float32)}
