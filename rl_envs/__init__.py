"""Worlds for teams of agents, batched in NumPy: `make(id, num_worlds)`. `wrappers` adapts them to other libraries."""

from rl_envs.core.world import World
from rl_envs.registry import WORLDS, make, register

__all__ = ["WORLDS", "World", "make", "register"]
