"""RTFM: its worlds, stepped with random moves, observations and resets included.

B = 256, as in acting. Authors' figures (reference: their environment with features and wrapper, timed): 650 to 1,650
steps a CPU second, resets included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.common.clock import median, timed
from benchmarks.common.figures import Figure
from benchmarks.common.world_steps import Chooser, microseconds_by_part
from rl_envs.core.world import World
from rl_envs.registry import make
from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.stages import STAGES

PER_SECOND, MICROSECONDS = "env steps per CPU-second", "us"
WORLDS, STEPS, REPEATS = 256, 80, 25
"""Worlds, env steps of a repeat (a fragment of the paper's length), and how many repeats."""
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "world": ("rtfm-v0", {"dyna": True}),
    "world_static": ("rtfm-v0", {}),
    "world_full": ("rtfm-v0", {"group": True, "dyna": True, "nl": True}),
    "world_full_10x10": ("rtfm-v0", {"size": 10, "group": True, "dyna": True, "nl": True}),
    "world_full_text_every_step": ("rtfm-v0", {"group": True, "dyna": True, "nl": True, "resample_text": "step"}),
    "world_2_agents": ("rtfm-v0", {"num_agents": 2, **STAGES["S5"]}),
    "world_rock_paper_scissors": ("rock_paper_scissors-v0", {}),
}
WORLD_PARTS = ("step", "_checked", "_plans", "_agents_act", "_monsters_act", "_judge", "_observe", "_start", "_begin")


def measure() -> Iterator[Figure]:
    """All figures of this part."""
    for name, (world_id, arguments) in SETTINGS.items():
        world = make(world_id, num_worlds=WORLDS, **arguments)
        yield Figure(f"rtfm.{name}.steps_per_cpu_second", steps_per_cpu_second(world), PER_SECOND)
    world_id, arguments = SETTINGS["world_full"]
    world = make(world_id, num_worlds=WORLDS, **arguments)
    costs = microseconds_by_part(world, _chooser(world), STEPS * REPEATS, WORLD_PARTS)
    for part, cost in costs.items():
        yield Figure(f"rtfm.world_full.part.{part.removeprefix('_')}", cost, MICROSECONDS)


def steps_per_cpu_second(world: World) -> float:
    """Median over fragments; each forgets the texts that nothing shows any more first, as collecting does."""
    choose = _chooser(world)
    observations = world.reset(0)
    rates = []
    for repeat in range(REPEATS + 1):
        _, seconds = timed(world.compact_texts)
        observations = world.observe()
        for _ in range(STEPS):
            actions = choose(observations)
            (observations, *_), spent = timed(world.step, actions)
            seconds += spent
        if repeat:
            rates.append(world.num_worlds * STEPS / seconds)
    return median(rates)


def _chooser(world: World) -> Chooser:
    """Uniform moves, legal or not."""
    random = np.random.default_rng(0)
    return lambda _: random.integers(NUM_MOVES, size=(world.num_worlds, world.num_agents))
