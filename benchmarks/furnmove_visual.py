"""First-person frames of FurnMove: CPU time of a frame, and of its parts.

Full-size rooms, two agents, 64 worlds, 84 x 84 pixels with television, stand and agents, in colour. Reference figures
on the same kind of machine: MiniWorld 1,716 us (software OpenGL), ViZDoom 328 us.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from rl_envs.furnmove.frame_renderer import FrameRenderer
from rl_envs.furnmove.world import FurnMove

MICROSECONDS = "us"
WORLDS, AGENTS, REPEATS, STEPS = 64, 2, 31, 20
BARE_AGENT_STEP_MICROSECONDS = 6_500
"""Acting and learning of the paper's visual network for an agent-step, channels-last: the sheet's measurement."""


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    yield Measurement("furnmove_visual.frame.us", _frame("full", 84), MICROSECONDS)
    yield Measurement("furnmove_visual.frame.us_42_pixels", _frame("full", 42), MICROSECONDS)
    yield Measurement("furnmove_visual.frame.us_laptop_room_42_pixels", _frame("laptop", 42), MICROSECONDS)
    world = _world_with_frames()
    yield Measurement("furnmove_visual.world.us_per_agent_step", world, MICROSECONDS)
    yield Measurement("furnmove_visual.world.share_of_network", world / BARE_AGENT_STEP_MICROSECONDS, RATIO)


def _ready(room_size: str, pixels: int) -> FurnMove:
    world = FurnMove(
        WORLDS, num_agents=AGENTS, rooms="train_stream", room_size=room_size, observations=("frame",),
        frame_pixels=pixels,
    )  # fmt: skip
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
