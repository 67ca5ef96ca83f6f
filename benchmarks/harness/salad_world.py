"""The salad kitchen: its world, stepped with random legal actions, observations and resets included.

B = 256. Authors' figures (reference: TWOSOME's environments, timed): 27 microseconds a primitive step without text, and
109 to 119 a primitive step of macro actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness.figures import Figure
from benchmarks.harness.world_steps import Chooser, microseconds_by_part, microseconds_per_joint_step
from rl_envs.core.world import World
from rl_envs.registry import make

MICROSECONDS = "us"
WORLDS, STEPS, REPEATS = 256, 100, 9
"""Worlds, env steps of a repeat, and how many repeats."""
FULL: dict[str, Any] = {"kitchen": "full", "recipes": ("lettuce-tomato",)}
SETTINGS: dict[str, dict[str, Any]] = {
    "primitive": {"layout": "A", "actions": "primitive"} | FULL,
    "primitive_b": {"layout": "B", "actions": "primitive"} | FULL,
    "primitive_no_text": {"layout": "A", "actions": "primitive", "text": False} | FULL,
    "macro": {"layout": "A"} | FULL,
    "macro_b": {"layout": "B"} | FULL,
    "macro_no_text": {"layout": "A", "text": False} | FULL,
}
HEADLINE = ("primitive", "primitive_b")
"""The slower of these is the world's figure."""
WORLD_PARTS = ("step", "_checked", "_advance", "_look", "_observe", "_start")


def measure() -> Iterator[Figure]:
    """All figures of this part."""
    costs = {name: _cost(name) for name in SETTINGS}
    yield Figure("salad.world.us_per_step", max(costs[name] for name in HEADLINE), MICROSECONDS)
    for name, cost in costs.items():
        yield Figure(f"salad.world_{name}.us_per_step", cost, MICROSECONDS)
    world = _world("macro")
    for part, cost in microseconds_by_part(world, _chooser(world), STEPS * REPEATS, WORLD_PARTS).items():
        yield Figure(f"salad.world_macro.part.{part.removeprefix('_')}", cost, MICROSECONDS)


def _cost(name: str) -> float:
    world = _world(name)
    return microseconds_per_joint_step(world, _chooser(world), STEPS, REPEATS)


def _world(name: str) -> World:
    return make("salad-v0", num_worlds=WORLDS, **SETTINGS[name])


def _chooser(world: World) -> Chooser:
    """Uniform legal actions."""
    random = np.random.default_rng(0)
    return lambda observations: (random.random(observations["legal"].shape) * observations["legal"]).argmax(-1)
