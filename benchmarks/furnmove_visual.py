"""First-person frames of FurnMove: CPU time of a frame, of the world that draws it, and of the training loop.

Full-size rooms, two agents, 64 worlds, 84 x 84 pixels with television, stand and agents, in colour. Reference figures
on the same kind of machine: MiniWorld 1,716 us (software OpenGL), ViZDoom 328 us. The part `loop` is IMPALA with the
paper's visual network, SYNC with 13 components and CORDIAL; the authors' own loop takes 37 agent steps per CPU-second.
The part `laptop_loop` is the laptop preset of `furnmove_visual.py` (42 x 42 pixels, small rooms and widths, PPO). The
parts `furnlift_loop` and `furnlift_laptop_loop` are reinforcement learning with imitation in the presets paper and
laptop of `furnlift.py`, SYNC with two components; the paper's rooms are those of iTHOR.
"""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch

from benchmarks.furnmove import MICROSECONDS, cordial_impala
from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.training_loop import LoopTimes, loop_measurements, make_loop, time_collect_and_update
from rl_envs.core.world import World
from rl_envs.furnmove.actions import NUM_ACTIONS
from rl_envs.furnmove.frame_renderer import FrameRenderer
from rl_envs.furnmove.world import FurnMove
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.networks.network_config import VisualConfig
from rl_models.teams.tbone_team import tbone_team
from tune_experiments import furnlift, furnmove_visual
from tune_experiments.cordial_sync.config import MethodName
from tune_experiments.experiment.plan import TrialPlan

WORLDS, AGENTS, REPEATS, STEPS = 64, 2, 31, 20
LOOP_LENGTH, LOOP_TURNS = 6, 5
"""Env steps of a fragment of the paper's loop, and number of fragments of both loops."""
METHOD: MethodName = "sync_13_cordial"


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    yield Measurement("furnmove_visual.frame.us", _frame("full", 84), MICROSECONDS)
    yield Measurement("furnmove_visual.frame.us_42_pixels", _frame("full", 42), MICROSECONDS)
    yield Measurement("furnmove_visual.frame.us_laptop_room_42_pixels", _frame("laptop", 42), MICROSECONDS)
    world, loop = _world_with_frames(), _paper_loop()
    yield Measurement("furnmove_visual.world.us_per_agent_step", world, MICROSECONDS)
    yield Measurement("furnmove_visual.world.share_of_network", world * loop.per_second(loop.bare) / 1e6, RATIO)
    yield from loop_measurements("furnmove_visual.loop", loop)
    yield from loop_measurements("furnmove_visual.laptop_loop", _laptop_loop())
    yield from loop_measurements("furnmove_visual.furnlift_loop", _furnlift_loop("paper", LOOP_LENGTH))
    yield from loop_measurements("furnmove_visual.furnlift_laptop_loop", _furnlift_loop("laptop"))


def _paper_loop() -> LoopTimes:
    team = tbone_team(VisualConfig(), AGENTS, (84, 84, 3), NUM_ACTIONS)
    loop = make_loop(_ready("full", 84), team, cordial_impala(), OptimiserSettings(), LOOP_LENGTH, spreads=True)
    return time_collect_and_update(*loop, LOOP_TURNS)


def _laptop_loop() -> LoopTimes:
    plan = furnmove_visual.EXPERIMENT.plan(furnmove_visual.EXPERIMENT.presets["laptop"], METHOD, seed=0)
    return _planned_loop(plan, plan.workers.worlds_per_runner, plan.workers.fragment_length)


def _furnlift_loop(preset: str, length: int | None = None) -> LoopTimes:
    """The stage after the warm start; a fragment of the preset's length if no other is given."""
    plan = furnlift.EXPERIMENT.plan(furnlift.EXPERIMENT.presets[preset], "sync", seed=0).stages[-1].plan
    return _planned_loop(plan, WORLDS, length or plan.workers.fragment_length)


def _planned_loop(plan: TrialPlan, worlds: int, length: int) -> LoopTimes:
    world = cast(World, plan.make_world(num_worlds=worlds))
    loop = make_loop(world, plan.build_policy(), plan.objective, plan.optimiser, length, spreads=True)
    return time_collect_and_update(*loop, LOOP_TURNS)


def _ready(room_size: str, pixels: int) -> FurnMove:
    frames: dict[str, Any] = {"observations": ("frame",), "frame_pixels": pixels}
    world = FurnMove(WORLDS, num_agents=AGENTS, rooms="train_stream", room_size=room_size, **frames)
    world.reset(0)
    return world


def _frame(room_size: str, pixels: int) -> float:
    """CPU microseconds of a frame in colour; rooms are loaded once an episode and are not counted."""
    world = _ready(room_size, pixels)
    state, rows, renderer = world.state, np.arange(WORLDS), world._renderer
    assert isinstance(renderer, FrameRenderer)
    poses = state["agent_cells"], state["agent_headings"], state["tv"]
    renderer.frames(rows, *poses)  # compiled here
    seconds = [timed(lambda: renderer.frames(rows, *poses))[1] for _ in range(REPEATS)]
    return median(seconds) / (WORLDS * AGENTS) * 1e6


def _world_with_frames() -> float:
    """CPU microseconds of an agent-step of the world with its frames, random play, episode starts included."""
    world, random = _ready("full", 84), np.random.default_rng(0)
    actions = random.integers(13, size=(REPEATS * STEPS, WORLDS, AGENTS))
    seconds = [
        timed(lambda turn=turn: [world.step(joint) for joint in actions[turn * STEPS : (turn + 1) * STEPS]])[1]
        for turn in range(REPEATS // 3)
    ]
    return median(seconds) / (STEPS * WORLDS * AGENTS) * 1e6
