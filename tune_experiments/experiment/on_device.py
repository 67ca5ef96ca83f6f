"""Environments on the GPU of a trial's own process, for classes that also support torch."""

from __future__ import annotations

from rl_envs import World
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import building_device


def device_arguments(world: type[World], workers: Workers) -> dict[str, str]:
    """Arguments of training environments: array library and device; none for NumPy, the default.

    They are on the device of `building_for` if this process alone acts and learns there: other processes could not read
    fragments on it.
    """
    device = building_device()
    in_one_process = not (workers.runners or workers.learners or workers.aggregators) and workers.world_groups == 1
    if device.type == "cpu" or not in_one_process or "torch" not in world.array_libraries:
        return {}
    return {"arrays": "torch", "device": str(device)}
