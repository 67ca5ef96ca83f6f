"""MESSENGER: its worlds, stepped with random moves, observations and resets included; then the loop around EMMA.

B = 256. Authors' numbers (reference: their environments, timed): 511 to 682 microseconds a step in stages 2 and 3,
resets included, and for two agents 52 to 112 a joint step.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.harness.measurements import Measurement
from benchmarks.harness.messenger_loop import measure_loops
from benchmarks.harness.world_steps import microseconds_by_part, microseconds_per_joint_step, uniform_actions
from rl_envs.core.world import World
from rl_envs.messenger.symbols import ACTIONS
from rl_envs.messenger.team_rules import RELEASED
from rl_envs.registry import make

MICROSECONDS = "us"
WORLDS, STEPS, REPEATS = 256, 100, 15
"""Number of worlds, env steps of a repeat, and number of repeats."""
SETTINGS: dict[str, dict[str, Any]] = {
    "stage1": {"stage": 1},
    "stage2": {"stage": 2},
    "stage3": {"stage": 3},
    "2_agents_stage1": {"stage": 1, "num_agents": 2},
    "2_agents_stage2": {"stage": 2, "num_agents": 2},
    "2_agents_stage3": {"stage": 3, "num_agents": 2},
    "2_agents_stage3_as_released": {"stage": 3, "num_agents": 2, "released": tuple(RELEASED)},
}
HEADLINE = ("stage2", "stage3")
"""The slower of these settings is the headline number of the world."""
WORLD_PARTS = ("step", "_checked", "_advance", "_entity_moves", "_observe", "_start", "_begin", "_write")


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    costs = {name: _cost(_world(name)) for name in SETTINGS}
    yield Measurement("messenger.world.us_per_step", max(costs[name] for name in HEADLINE), MICROSECONDS)
    for name, cost in costs.items():
        yield Measurement(f"messenger.world_{name}.us_per_step", cost, MICROSECONDS)
    world = _world("stage3")
    for part, cost in microseconds_by_part(
        world, uniform_actions(world, len(ACTIONS)), STEPS * REPEATS, WORLD_PARTS
    ).items():
        yield Measurement(f"messenger.world_stage3.part.{part.removeprefix('_')}", cost, MICROSECONDS)
    yield from measure_loops()


def _cost(world: World) -> float:
    return microseconds_per_joint_step(world, uniform_actions(world, len(ACTIONS)), STEPS, REPEATS)


def _world(name: str) -> World:
    return make("messenger-v0", num_worlds=WORLDS, **SETTINGS[name])
