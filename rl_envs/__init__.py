"""Worlds for teams of agents, batched in NumPy. `make(id, num_worlds)` builds one; `views` shows it to other libraries."""

from rl_envs.core.world import World
from rl_envs.registry import WORLDS, make, register

__all__ = ["WORLDS", "World", "make", "register"]
