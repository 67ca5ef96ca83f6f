"""Worlds as Gymnasium, PettingZoo and RLlib environments, one module each; custom environments as worlds (`custom`)."""

from rl_envs.wrappers.custom.build import from_gymnasium, from_pettingzoo

__all__ = ["from_gymnasium", "from_pettingzoo"]
