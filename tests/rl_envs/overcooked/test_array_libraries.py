"""Kitchens in torch play as those in NumPy, to the bit, and ask the host for nothing."""

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.overcooked.world import Overcooked
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device


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
