"""Kitchens in torch play as those in NumPy, to the bit, and ask the host for nothing."""

import pickle

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import Overcooked
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_envs.both_libraries import play, same, same_step
from tests.rl_envs.overcooked.cooks import Cooks

RELOCATING = {"actions": ("any", "primitive"), "observations": ("lossless", "symbols")}
SHAPED = {"shaping": 0.7, "shaping_steps": 150, "bootstrap_at_limit": False}


def both(num_worlds, **arguments):
    """The same worlds in NumPy and in torch."""
    return [make("overcooked-v0", num_worlds, arrays=arrays, **arguments) for arrays in ("numpy", "torch")]


def at_random(world):
    random = np.random.default_rng(0)
    return lambda: random.integers(world.action_spec, size=(world.num_worlds, 2))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_play_is_equal(layout):
    worlds = both(16, layout=layout, max_episode_steps=40)
    assert play(worlds, 90, at_random(worlds[0])) == 2


@pytest.mark.parametrize("arguments", [RELOCATING, SHAPED], ids=["relocating", "shaped"])
def test_random_play_with_arguments_is_equal(arguments):
    worlds = both(16, layout="asymmetric_advantages", max_episode_steps=40, **arguments)
    assert play(worlds, 90, at_random(worlds[0])) == 2


def test_cooks_who_serve_soups_are_equal():
    worlds = both(3, **SHAPED)
    play(worlds, 100, Cooks(worlds[0]))
    assert worlds[0].state["soups"].any()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_long_random_play_is_equal(layout):
    worlds = both(256, layout=layout, **SHAPED)
    assert play(worlds, 20_000, at_random(worlds[0])) == 50


class TurnedAtRandom(Overcooked):
    """A kitchen whose chefs begin with a drawn heading."""

    starts_alike = False

    def _begin(self, rows):
        super()._begin(rows)
        self.state["headings"][rows] = self.xp.astype(self.chance.uniforms(2, rows) * 4, self.xp.int64)


def test_starts_that_are_drawn_are_equal():
    worlds = [TurnedAtRandom(16, max_episode_steps=10, arrays=arrays) for arrays in ("numpy", "torch")]
    assert play(worlds, 35, at_random(worlds[0])) == 3
    assert len(np.unique(worlds[0].reset(8)["lossless"], axis=0)) > 1


def test_a_state_goes_from_one_library_to_the_other():
    worlds = both(4, **RELOCATING)
    choose = at_random(worlds[0])
    for first, second in (worlds, worlds[::-1]):
        first.reset(5)
        for _ in range(25):
            first.step(choose())
        same(*(each.restore(first.snapshot()) for each in worlds))
        same_step(worlds, choose())
        same(first.snapshot(), second.snapshot())


def test_a_pickled_world_goes_on_as_the_original():
    world = make("overcooked-v0", 2, arrays="torch")
    world.reset(0)
    actions = torch.full((2, 2), 3)
    same_as = pickle.loads(pickle.dumps(world))
    same(*(each.step(actions)[0] for each in (world, same_as)))


def test_worlds_that_are_left_ended_are_equal():
    worlds = both(3, max_episode_steps=2)
    for world in worlds:
        world.auto_resets = False
        world.reset(0)
    assert [same_step(worlds, np.full((3, 2), 5)) for _ in range(2)] == [False, True]
    same(*(world.next_episode(np.array([1])) for world in worlds))


class InNumPy(Overcooked):
    """A kitchen whose own rules are in NumPy."""

    array_libraries = ("numpy",)


def test_a_world_that_computes_in_numpy_alone_refuses_torch():
    assert InNumPy(arrays="numpy").reset(0)
    with pytest.raises(ValueError, match="arrays"):
        InNumPy(arrays="torch")


@pytest.mark.parametrize("actions", [np.full((2, 2), 6), np.zeros((2, 2)), np.zeros((2, 3), int)])
def test_wrong_actions_are_refused(actions):
    world = make("overcooked-v0", 2, arrays="torch")
    world.reset(0)
    with pytest.raises(ValueError, match="actions"):
        world.step(torch.from_numpy(actions))


@pytest.mark.parametrize("arguments", [RELOCATING, SHAPED], ids=["relocating", "shaped"])
def test_a_step_on_an_emulated_device_asks_the_host_for_nothing(arguments):
    with emulated_device() as counts:
        world = make("overcooked-v0", 4, arrays="torch", device=str(DEVICE), max_episode_steps=3, **arguments)
        world.reset(0)
        actions = torch.full((4, 2), 5, device=DEVICE)
        counts.copies = counts.syncs = 0
        for _ in range(4):
            world.step(actions)
            world.chance.policy_uniforms(3)
        assert (counts.copies, counts.syncs) == (0, 0)


def test_a_step_on_an_emulated_device_is_captured_once_and_replayed():
    plain = make("overcooked-v0", 4, max_episode_steps=5)
    plain.reset(0)
    choose = at_random(plain)
    with emulated_device():
        world = make("overcooked-v0", 4, arrays="torch", device=str(DEVICE), max_episode_steps=5)
        world.reset(0)
        actions = torch.zeros((4, 2), dtype=torch.int64, device=DEVICE)
        capture = EmulatedCapture(lambda: world.step(actions)[0], DEVICE)
        for _ in range(12):
            chosen = choose()
            actions.copy_(torch.from_numpy(chosen))
            capture.replay()
            np.testing.assert_array_equal(capture.outputs["lossless"].cpu().numpy(), plain.step(chosen)[0]["lossless"])


def test_a_step_after_a_capture_is_valid_on_an_emulated_device():
    plain = make("overcooked-v0", 1, max_episode_steps=1)
    plain.reset(0)
    with emulated_device():
        world = make("overcooked-v0", 1, arrays="torch", device=str(DEVICE), max_episode_steps=1)
        world.reset(0)
        actions = torch.zeros((1, 2), dtype=torch.int64, device=DEVICE)
        EmulatedCapture(lambda: world.step(actions)[0], DEVICE)
        found = world.step(actions)[0]["lossless"].cpu().numpy()
    np.testing.assert_array_equal(found, plain.step(np.zeros((1, 2), int))[0]["lossless"])
