"""MiniRTS: ticks per CPU-second of 64 games on one thread, the time of a new map, and RED's loop.

References (the authors' C++ engine, one thread, script against script): 24,300 ticks per CPU-second over 20 games; on
eight others 22,700 without and 20,400 with observations of one side every 50 ticks; a new map 1,000 ms.

RED's loop is PPO of one agent with the laptop's network and settings from initial weights, in fragments of 32 games and
25 decisions. A minibatch is learned whole and not in parts, as the bare passes take it.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.training_loop import LoopTimes, make_loop, time_collect_and_update
from rl_envs.core.spec import Arrays
from rl_envs.minirts.batch import Games, set_map
from rl_envs.minirts.world import DECISION_TICKS, MiniRts
from rl_envs.registry import make
from tune_experiments.red.config import RedConfig, make_world
from tune_experiments.red.trials import plan

TICKS, MILLISECONDS, DECISIONS = "ticks/s", "ms", "decisions/s"
WORLDS, STEPS, REPEATS, MAPS = 64, 25, 5, 200
"""Number of worlds, decisions of a repeat, number of repeats, number of maps."""
LOOP_LENGTH, LOOP_TURNS = 25, 3
"""Decisions of a fragment in RED's loop, and number of turns."""


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    scripted: dict[str, Any] = {"own_script": "medium"}
    yield Measurement("minirts.world.ticks_per_cpu_second", _rate(_world(**scripted), _advance), TICKS)
    yield Measurement("minirts.world_observed.ticks_per_cpu_second", _rate(_world(**scripted), _step), TICKS)
    yield Measurement("minirts.world_random.ticks_per_cpu_second", _rate(_world(), _step), TICKS)
    games = Games(1)
    set_new_map = partial(set_map, games, 0, fair=False, extras=0)
    costs = [timed(set_new_map, seed)[1] for seed in range(MAPS + 1)][1:]
    yield Measurement("minirts.map.ms", 1000 * median(costs), MILLISECONDS)
    times = time_red(RedConfig())
    yield Measurement("minirts.red_loop.decisions_per_cpu_second", times.per_second(times.loop), DECISIONS)
    yield Measurement("minirts.red_loop.overhead", times.overhead, RATIO)


def time_red(config: RedConfig) -> LoopTimes:
    """Time PPO of a team with its initial weights."""
    whole = dataclasses.replace(config.learner, gradient_accumulation_steps=1)
    trial = plan(dataclasses.replace(config, learner=whole), "scratch", seed=0).stages[0].plan
    world, policy = make_world(config, config.workers.worlds), trial.build_policy()
    loop = make_loop(world, policy, trial.objective, trial.optimiser, LOOP_LENGTH, spreads=False)
    return time_collect_and_update(*loop, LOOP_TURNS)


def _world(**arguments: Any) -> MiniRts:
    world = make("minirts-v0", WORLDS, **arguments)
    assert isinstance(world, MiniRts)
    world.reset(0)
    return world


def _step(world: MiniRts, actions: Arrays) -> None:
    """A whole env step: 50 ticks, observations and new episodes."""
    world.step(actions)


def _advance(world: MiniRts, actions: Arrays) -> None:
    """The same without observations."""
    world.chance.next_step()
    _, terminated, truncated = world._advance(actions, {})
    done = np.flatnonzero(terminated | truncated)
    world.chance.next_episode(done)
    world._start(done)


def _rate(world: MiniRts, advance: Callable[[MiniRts, Arrays], None]) -> float:
    """Ticks per CPU-second: the median of several repeats after one that is not counted."""
    random = np.random.default_rng(0)
    rates = []
    for _ in range(REPEATS + 1):
        seconds = 0.0
        for _ in range(STEPS):
            assert isinstance(world.action_spec, dict)
            shape = (WORLDS, world.num_agents)
            sizes = {name: size for name, size in world.action_spec.items() if isinstance(size, int)}
            actions = {name: random.integers(size, size=shape) for name, size in sizes.items()}
            seconds += timed(advance, world, actions)[1]
        rates.append(WORLDS * STEPS * DECISION_TICKS / seconds)
    return median(rates[1:])
