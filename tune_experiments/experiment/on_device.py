"""Environments on the GPU of a trial's own process, for classes that also support torch."""

from __future__ import annotations

from typing import Any

from rl_envs import World
from rl_models.runtime.device import building_device


def device_arguments(world: type[World], **arguments: Any) -> dict[str, str]:
    """Array library and device of environments with these arguments if they can be where they are built for.

    On a CPU there are no such arguments: NumPy, the default, is faster.
    """
    device = building_device()
    can_be_there = device.type != "cpu" and world.offers_torch(**arguments)
    return {"arrays": "torch", "device": str(device)} if can_be_there else {}
