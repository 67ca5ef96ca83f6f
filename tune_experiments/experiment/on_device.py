"""Environments on the GPU of a trial's own process, for classes that also support torch."""

import contextlib
from collections.abc import Callable
from typing import TypeVar

from rl_envs import World
from rl_envs.core.errors import ArraysError
from rl_models.runtime.device import building_device

_World = TypeVar("_World", bound=World)


def build_on_device(world: type[World], build: Callable[..., _World]) -> _World:
    """Training environments on the device of the policy (`building_for`) if they can be there, else in NumPy.

    The class declares `array_libraries` itself: a subclass may compute in NumPy. `build(**place)` gets nothing, or an
    array library and a device, with which it may raise `ArraysError`.
    """
    device = building_device()
    if device.type != "cpu" and "torch" in vars(world).get("array_libraries", ()):
        with contextlib.suppress(ArraysError):
            return build(arrays="torch", device=str(device))
    return build()
