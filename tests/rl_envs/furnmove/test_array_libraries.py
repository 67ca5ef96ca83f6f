"""FurnMove's grid in torch plays as in NumPy, to the bit, and asks the host for nothing in a step."""

import numpy as np
import pytest
import torch

from rl_envs import make
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_envs.both_libraries import at_random, both, same, same_step
from tests.rl_envs.furnmove.scenes import ROOMS
from tests.rl_envs.test_array_libraries import few_ahead  # noqa: F401 (used by every test here)

pytestmark = pytest.mark.usefixtures("few_ahead")
PASS = 3


def test_a_state_without_a_clock_can_be_restored():
    worlds = both("furnmove-v0", 3, rooms=ROOMS, max_episode_steps=3)
    worlds[0].reset(2)
    names = ("room", "agent_cells", "agent_headings", "tv", "stand")
    state = {name: worlds[0].state[name].copy() for name in names}
    same(*(each.restore(state) for each in worlds))
    choose = at_random(worlds[0])
    assert sum(same_step(worlds, choose()) for _ in range(7)) == 2


class Replayed:
    """A world in NumPy and on the device, whose episodes take one step; the device's step is captured."""

    def __init__(self, prepared):
        arguments = {"rooms": ROOMS, "num_agents": 1, "max_episode_steps": 1}
        self.plain = make("furnmove-v0", **arguments)
        self.world = make("furnmove-v0", arrays="torch", device=str(DEVICE), **arguments)
        for world in (self.plain, self.world):
            world.reset(0)
        if prepared:
            self.world.prepare(prepared)
        self.actions = torch.full((1, 1), PASS, device=DEVICE)
        self.capture = EmulatedCapture(self.step, DEVICE)

    def step(self):
        return self.world.step(self.actions)[0]

    def play(self, steps, step):
        for _ in range(steps):
            step()
            self.plain.step(np.full((1, 1), PASS))
            for name in ("tv", "stand", "agent_cells"):
                assert np.array_equal(self.plain.state[name], self.world.state[name].cpu())


def test_replays_and_plain_steps_may_take_turns():
    with emulated_device():
        games = Replayed(3)
        games.play(3, games.capture.replay)
        games.play(5, games.step)
        games.play(3, games.capture.replay)
        games.world.prepare(3)
        games.play(1, games.capture.replay)


def test_a_captured_step_is_never_prepared_for_more_than_it_can_take():
    with emulated_device():
        games = Replayed(3)
        with pytest.raises(RuntimeError, match="prepare"):
            games.world.prepare(4)
        games.play(3, games.capture.replay)
        games.play(3, games.step)
        games.world.next_episode()
        games.plain.next_episode()
        with pytest.raises(RuntimeError, match="prepare"):
            games.world.prepare(4)


def test_a_new_game_may_prepare_more_than_the_captured_step_of_the_last_one():
    with emulated_device():
        games = Replayed(3)
        for world in (games.plain, games.world):
            world.reset(1)
        games.world.prepare(8)
        again = EmulatedCapture(games.step, DEVICE)
        games.play(8, again.replay)


def test_a_step_is_captured_only_if_its_starts_are_drawn():
    with emulated_device():
        games = Replayed(0)
        games.play(2, games.step)
        again = EmulatedCapture(games.step, DEVICE)
        games.world.prepare(0)
        games.play(1, again.replay)
        games.world.restore(games.plain.snapshot())
        with pytest.raises(RuntimeError, match="prepare"):
            EmulatedCapture(games.step, DEVICE)
        games.play(2, games.step)


def test_more_replays_than_were_prepared_are_refused():
    with emulated_device():
        world = make("furnmove-v0", 2, arrays="torch", device=str(DEVICE), rooms=ROOMS, max_episode_steps=1)
        world.reset(0)
        world.prepare(2)
        capture = EmulatedCapture(lambda: world.step(torch.full((2, 2), PASS, device=DEVICE))[0], DEVICE)
        for _ in range(6):
            capture.replay()
        with pytest.raises(RuntimeError, match="prepare"):
            world.prepare(2)


def test_starts_follow_a_state_of_another_seed_and_skipped_episodes():
    one, other = (make("furnmove-v0", 2, arrays=name, rooms=ROOMS, max_episode_steps=5) for name in ("numpy", "torch"))
    one.reset(7)
    other.reset(0)
    other.step(torch.full((2, 2), 3))
    state = one.snapshot()
    for world in (one, other):
        world.restore(state)
        world.next_episode()
        world.next_episode()
    for _ in range(12):
        one.step(np.full((2, 2), 3))
        other.step(torch.full((2, 2), 3))
        for name in ("room", "tv", "agent_cells"):
            np.testing.assert_array_equal(one.state[name], other.state[name].numpy())
