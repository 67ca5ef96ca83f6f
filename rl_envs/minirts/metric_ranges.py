"""Ranges of MiniRTS's metrics, apart from the world, whose import loads Numba."""

from types import MappingProxyType

from rl_envs.core.metrics import COUNT, SHARE

METRIC_RANGES = MappingProxyType({"win": SHARE, "loss": SHARE, "ticks": COUNT})
