"""Overcooked: its kitchens, stepped with random actions, planes of both chefs and resets included.

The headline number is that of the slowest of the five kitchens. References (timed on random play with both chefs'
planes): the original engine takes 190 to 240 microseconds a joint step; JaxMARL on a CPU with 256 worlds, 3.2 to 4.8.
"""

from collections.abc import Iterator

from benchmarks.harness.measurements import Measurement
from benchmarks.harness.world_steps import microseconds_by_part, microseconds_per_joint_step, uniform_actions
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.words import ACTIONS
from rl_envs.registry import make

MICROSECONDS = "us"
WORLDS = (1, 256, 1024)
STEPS, REPEATS = 100, 9
"""Env steps of a repeat, and number of repeats."""
PARTS = ("step", "_checked", "_advance", "_observe", "_start")


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    for worlds in WORLDS:
        costs = {layout: _cost(layout, worlds) for layout in LAYOUTS}
        yield Measurement(f"overcooked.world.us_per_step_b{worlds}", max(costs.values()), MICROSECONDS)
        for layout, cost in costs.items():
            yield Measurement(f"overcooked.world_{layout}.us_per_step_b{worlds}", cost, MICROSECONDS)
    world = make("overcooked-v0", 256)
    for part, cost in microseconds_by_part(world, uniform_actions(world, len(ACTIONS)), STEPS * REPEATS, PARTS).items():
        yield Measurement(f"overcooked.world_cramped_room.part.{part.removeprefix('_')}", cost, MICROSECONDS)


def _cost(layout: str, worlds: int) -> float:
    world = make("overcooked-v0", worlds, layout=layout)
    return microseconds_per_joint_step(world, uniform_actions(world, len(ACTIONS)), STEPS, REPEATS)
