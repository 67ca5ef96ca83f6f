"""CPU time of a world's env step, as a whole and by method."""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.harness.clock import median, timed
from benchmarks.harness.profiler import Profiler, Watch
from rl_envs.core.spec import Actions, Arrays
from rl_envs.core.world import World

Chooser = Callable[[Arrays], Actions]
"""Function from the observations of all worlds to their actions; it is not timed."""


def uniform_actions(world: World, actions: int) -> Chooser:
    """Uniformly random actions in 0 ... `actions` - 1 of all agents, whether legal or not."""
    random = np.random.default_rng(0)
    return lambda _: random.integers(actions, size=(world.num_worlds, world.num_agents))


def spread_episodes(world: World) -> None:
    """Spread worlds that were just reset over their episodes, so that every step resets equally many of them."""
    lengths = np.arange(world.num_worlds) * world.max_episode_steps // world.num_worlds
    world.state["episode_length"][:] = world.xp.asarray(lengths)


def microseconds_per_joint_step(world: World, choose: Chooser, steps: int, repeats: int) -> float:
    """Median CPU microseconds of a joint step, observations and resets included, over repeats after a warm-up."""
    observations = world.reset(0)
    spread_episodes(world)
    means: list[float] = []
    for _ in range(repeats + 1):
        seconds = 0.0
        for _ in range(steps):
            result, spent = timed(world.step, choose(observations))
            observations = result[0]
            seconds += spent
        means.append(seconds / steps / world.num_worlds * 1e6)
    return median(means[1:])


def microseconds_by_part(world: World, choose: Chooser, steps: int, methods: Sequence[str]) -> dict[str, float]:
    """CPU microseconds of a joint step by method of the world; `step` has the rest."""
    observations = world.reset(0)
    spread_episodes(world)
    profiler = Profiler()
    with profiler.watching([Watch(world, name, name) for name in methods]):
        for _ in range(steps):
            observations, *_ = world.step(choose(observations))
    return {name: profiler.seconds.get(("step", name), 0.0) / steps / world.num_worlds * 1e6 for name in methods}
