"""Worlds in torch play as those in NumPy, to the bit, and ask the host for nothing in a step."""

import pickle

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.furnmove import prepared_starts
from rl_envs.furnmove.splits import RoomStream, split_rooms
from rl_envs.furnmove.starts import make_starts
from rl_envs.overcooked.layouts import LAYOUTS
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_envs.both_libraries import at_random, both, play, same, same_step
from tests.rl_envs.furnmove.scenes import ROOMS

FURNMOVE, OVERCOOKED = "furnmove-v0", "overcooked-v0"
SMALL = {"rooms": ROOMS, "max_episode_steps": 15}
RELOCATING = {"actions": ("any", "primitive"), "observations": ("lossless", "symbols"), "max_episode_steps": 15}
SHAPED = {"shaping": 0.7, "shaping_steps": 150, "bootstrap_at_limit": False}
ROOM_STREAM = RoomStream(seed=3, size="laptop", count=50)
STARTS = make_starts(split_rooms("valid", "laptop")[:2], 3, 4)
PLAYED = [
    *((FURNMOVE, {"num_agents": num_agents, **SMALL}) for num_agents in (1, 2, 3, 5)),
    (FURNMOVE, {"rooms": ROOM_STREAM, "bootstrap_at_limit": False, "first_world": 7, "max_episode_steps": 10}),
    (
        FURNMOVE,
        {"room_size": "laptop", "closer_reward": 0.3, "min_agent_distance_cells": 1, "max_episode_steps": 10},
    ),
    (FURNMOVE, {"starts": STARTS, "first_world": 2, "max_episode_steps": 10}),
    *((OVERCOOKED, {"layout": layout, "max_episode_steps": 40}) for layout in LAYOUTS),
    (OVERCOOKED, {"layout": "asymmetric_advantages", **RELOCATING}),
    (OVERCOOKED, {"layout": "asymmetric_advantages", "max_episode_steps": 40, **SHAPED}),
]
EACH_WORLD = pytest.mark.parametrize(("env", "arguments"), [(FURNMOVE, {"rooms": ROOMS}), (OVERCOOKED, {})])


@pytest.fixture
def few_ahead(monkeypatch):
    """A step that is not captured prepares few others."""
    monkeypatch.setattr(prepared_starts, "STEPS_AHEAD", 2)


@pytest.mark.parametrize(("env", "arguments"), PLAYED)
def test_random_play_is_equal(env, arguments):
    worlds = both(env, 16, **arguments)
    assert play(worlds, 2 * arguments["max_episode_steps"] + 10, at_random(worlds[0])) >= 2


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("env", "arguments", "ends"),
    [
        *((FURNMOVE, {"num_agents": num_agents, "rooms": "train"}, 80) for num_agents in (2, 3)),
        *((OVERCOOKED, {"layout": layout, **SHAPED}, 50) for layout in LAYOUTS),
    ],
)
def test_long_random_play_is_equal(env, arguments, ends):
    worlds = both(env, 256, **arguments)
    assert play(worlds, 20_000, at_random(worlds[0])) >= ends


@pytest.mark.parametrize(
    ("env", "arguments"), [*((FURNMOVE, {"num_agents": n, **SMALL}) for n in (2, 3)), (OVERCOOKED, RELOCATING)]
)
def test_a_state_goes_from_one_library_to_the_other(env, arguments):
    worlds = both(env, 4, **arguments)
    choose = at_random(worlds[0])
    for first, second in (worlds, worlds[::-1]):
        first.reset(5)
        for _ in range(10):
            first.step(choose())
        same(*(each.restore(first.snapshot()) for each in worlds))
        assert sum(same_step(worlds, choose()) for _ in range(10)), "an episode ends and another begins"
        same(first.snapshot(), second.snapshot())


@EACH_WORLD
def test_worlds_that_are_left_ended_are_equal(env, arguments):
    worlds = both(env, 3, max_episode_steps=2, **arguments)
    for world in worlds:
        world.auto_resets = False
        world.reset(0)
    assert [same_step(worlds, np.full((3, 2), 3)) for _ in range(2)] == [False, True]
    for rows in ([1], [2, 0, 1], None):
        same(*(world.next_episode(None if rows is None else np.array(rows)) for world in worlds))
    assert np.array_equal(*(world.render(2) for world in worlds))


@EACH_WORLD
def test_a_pickled_world_goes_on_as_the_original(env, arguments):
    world = make(env, 2, arrays="torch", max_episode_steps=15, **arguments)
    world.reset(0)
    actions = torch.full((2, 2), 4)
    world.step(actions)
    same_as = pickle.loads(pickle.dumps(world))
    for _ in range(20):
        same(*(each.step(actions)[0] for each in (world, same_as)))


@pytest.mark.usefixtures("few_ahead")
@pytest.mark.parametrize(
    ("env", "arguments"), [(FURNMOVE, {"rooms": ROOMS}), (OVERCOOKED, RELOCATING), (OVERCOOKED, SHAPED)]
)
def test_a_step_on_an_emulated_device_asks_the_host_for_nothing(env, arguments):
    with emulated_device() as counts:
        world = make(env, 4, arrays="torch", device=str(DEVICE), **(arguments | {"max_episode_steps": 3}))
        world.reset(0)
        world.prepare(7)
        actions = torch.full((4, 2), 3, device=DEVICE)
        counts.copies = counts.syncs = 0
        for _ in range(7):
            world.step(actions)
            world.chance.policy_uniforms(3)
        assert (counts.copies, counts.syncs) == (0, 0)
        assert world.chance.episode.cpu().tolist() == [2] * 4


@pytest.mark.usefixtures("few_ahead")
@pytest.mark.parametrize(("env", "arguments"), [(FURNMOVE, {"num_agents": 3, "rooms": ROOMS}), (OVERCOOKED, {})])
def test_a_step_on_an_emulated_device_is_captured_once_and_replayed(env, arguments):
    plain = make(env, 4, max_episode_steps=5, **arguments)
    plain.reset(0)
    choose = at_random(plain)
    with emulated_device():
        world = make(env, 4, arrays="torch", device=str(DEVICE), max_episode_steps=5, **arguments)
        world.reset(0)
        actions = torch.zeros((4, world.num_agents), dtype=torch.int64, device=DEVICE)
        world.prepare(8)
        capture = EmulatedCapture(lambda: world.step(actions)[0], DEVICE)
        for number in range(14):
            if number == 8:
                world.prepare(6)
            chosen = choose()
            actions.copy_(torch.from_numpy(chosen))
            capture.replay()
            same(plain.step(chosen)[0], {key: value.cpu() for key, value in capture.outputs.items()})
