"""FurnMove's grid in torch plays as in NumPy, to the bit, and asks the host for nothing in a step."""

import functools
import pickle

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.furnmove import prepared_starts
from rl_envs.furnmove.splits import RoomStream, split_rooms
from rl_envs.furnmove.starts import make_starts
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_envs.both_libraries import play, same, same_step
from tests.rl_envs.furnmove.scenes import ROOMS, likely_coordinated

SMALL = {"rooms": ROOMS, "max_episode_steps": 15}
PASS = 3


def both(num_worlds, **arguments):
    """The same worlds in NumPy and in torch."""
    return [make("furnmove-v0", num_worlds, arrays=arrays, **arguments) for arrays in ("numpy", "torch")]


def at_random(world, seed=0):
    return functools.partial(likely_coordinated, world, np.random.default_rng(seed))


@pytest.mark.parametrize("num_agents", [1, 2, 3, 5])
def test_random_play_is_equal(num_agents):
    worlds = both(16, num_agents=num_agents, **SMALL)
    assert play(worlds, 35, at_random(worlds[0])) >= 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"rooms": RoomStream(seed=3, size="laptop", count=50), "bootstrap_at_limit": False, "first_world": 7},
        {"room_size": "laptop", "closer_reward": 0.3, "min_agent_distance_cells": 1},
        {"starts": make_starts(split_rooms("valid", "laptop")[:2], 3, 4), "first_world": 2},
    ],
    ids=["stream", "rewards", "starts"],
)
def test_random_play_with_arguments_is_equal(arguments):
    worlds = both(8, max_episode_steps=10, **arguments)
    assert play(worlds, 45, at_random(worlds[0])) >= 4


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("num_agents", [2, 3])
def test_long_random_play_is_equal(num_agents):
    worlds = both(256, num_agents=num_agents, rooms="train")
    assert play(worlds, 20_000, at_random(worlds[0])) > 80


@pytest.mark.parametrize("num_agents", [2, 3])
def test_a_state_goes_from_one_library_to_the_other(num_agents):
    worlds = both(4, num_agents=num_agents, **SMALL)
    choose = at_random(worlds[0])
    for first, second in (worlds, worlds[::-1]):
        first.reset(5)
        for _ in range(10):
            first.step(choose())
        same(*(each.restore(first.snapshot()) for each in worlds))
        assert sum(same_step(worlds, choose()) for _ in range(10)), "an episode ends and another begins"
        same(first.snapshot(), second.snapshot())


def test_a_state_without_a_clock_can_be_restored():
    worlds = both(3, rooms=ROOMS, max_episode_steps=3)
    worlds[0].reset(2)
    names = ("room", "agent_cells", "agent_headings", "tv", "stand")
    state = {name: worlds[0].state[name].copy() for name in names}
    same(*(each.restore(state) for each in worlds))
    choose = at_random(worlds[0])
    assert sum(same_step(worlds, choose()) for _ in range(7)) == 2


def test_worlds_that_are_left_ended_are_equal():
    worlds = both(3, rooms=ROOMS, max_episode_steps=2)
    for world in worlds:
        world.auto_resets = False
        world.reset(0)
    assert [same_step(worlds, np.full((3, 2), PASS)) for _ in range(2)] == [False, True]
    for rows in ([1], [2, 0, 1], None):
        same(*(world.next_episode(None if rows is None else np.array(rows)) for world in worlds))
    assert np.array_equal(*(world.render(2) for world in worlds))


def test_a_pickled_world_goes_on_as_the_original():
    world = make("furnmove-v0", 2, arrays="torch", **SMALL)
    world.reset(0)
    actions = torch.full((2, 2), 4)
    world.step(actions)
    same_as = pickle.loads(pickle.dumps(world))
    for _ in range(20):
        same(*(each.step(actions)[0] for each in (world, same_as)))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("observations", {"observations": ("view", "frame")}),
        ("num_agents", {"num_agents": 6}),
        ("rooms", {"rooms": RoomStream(count=5000)}),
    ],
)
def test_what_torch_does_not_offer_is_refused(name, arguments):
    with pytest.raises(ValueError, match=name):
        make("furnmove-v0", arrays="torch", **arguments)


@pytest.mark.usefixtures("few_ahead")
def test_a_step_on_an_emulated_device_asks_the_host_for_nothing():
    with emulated_device() as counts:
        world = make("furnmove-v0", 4, arrays="torch", device=str(DEVICE), rooms=ROOMS, max_episode_steps=3)
        world.reset(0)
        world.prepare(7)
        actions = torch.full((4, 2), PASS, device=DEVICE)
        counts.copies = counts.syncs = 0
        for _ in range(7):
            world.step(actions)
            world.chance.policy_uniforms(3)
        assert (counts.copies, counts.syncs) == (0, 0)
        assert world.chance.episode.cpu().tolist() == [2] * 4


@pytest.mark.usefixtures("few_ahead")
def test_a_step_on_an_emulated_device_is_captured_once_and_replayed():
    arguments = {"num_agents": 3, "rooms": ROOMS, "max_episode_steps": 5}
    plain = make("furnmove-v0", 4, **arguments)
    plain.reset(0)
    choose = at_random(plain)
    with emulated_device():
        world = make("furnmove-v0", 4, arrays="torch", device=str(DEVICE), **arguments)
        world.reset(0)
        actions = torch.zeros((4, 3), dtype=torch.int64, device=DEVICE)
        world.prepare(8)
        capture = EmulatedCapture(lambda: world.step(actions)[0], DEVICE)
        for number in range(14):
            if number == 8:
                world.prepare(6)
            chosen = choose()
            actions.copy_(torch.from_numpy(chosen))
            capture.replay()
            same(plain.step(chosen)[0], {key: value.cpu() for key, value in capture.outputs.items()})


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


@pytest.fixture
def few_ahead(monkeypatch):
    """A step that is not captured prepares few others."""
    monkeypatch.setattr(prepared_starts, "STEPS_AHEAD", 2)


@pytest.mark.usefixtures("few_ahead")
def test_replays_and_plain_steps_may_take_turns():
    with emulated_device():
        games = Replayed(3)
        games.play(3, games.capture.replay)
        games.play(5, games.step)
        games.play(3, games.capture.replay)
        games.world.prepare(3)
        games.play(1, games.capture.replay)


@pytest.mark.usefixtures("few_ahead")
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


@pytest.mark.usefixtures("few_ahead")
def test_a_new_game_may_prepare_more_than_the_captured_step_of_the_last_one():
    with emulated_device():
        games = Replayed(3)
        for world in (games.plain, games.world):
            world.reset(1)
        games.world.prepare(8)
        again = EmulatedCapture(games.step, DEVICE)
        games.play(8, again.replay)


@pytest.mark.usefixtures("few_ahead")
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


@pytest.mark.usefixtures("few_ahead")
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
