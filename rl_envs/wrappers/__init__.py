"""Worlds as Gymnasium, PettingZoo and RLlib environments, one module each; and environments of others as worlds."""

from rl_envs.wrappers.custom.build import from_gymnasium, from_pettingzoo

__all__ = ["from_gymnasium", "from_pettingzoo"]
