"""Noise that a network draws for itself beside its agents' actions, such as EnDi's for its masks.

It is an observation like any other: whoever acts lays uniforms over what agents see, and they travel with the fragment,
so that every epoch sees the noise that acted. They come from the world's own stream, each agent's from draws of its
own. Without them a network takes what is likeliest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
