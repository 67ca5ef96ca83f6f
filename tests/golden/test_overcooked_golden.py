"""Replay of recordings of the original engine: states, shared and shaped rewards, ends, every plane of the encoding."""

import numpy as np
import pytest

from tests.golden.cases import own_or_golden
from tests.golden.overcooked_replay import Recording, encoding_of, rows_of

RECORDINGS = own_or_golden("*.npz", "overcooked")
LIBRARIES = pytest.mark.parametrize("arrays", ["numpy", "torch"])
WHOLE = [
    pytest.param(*one.values, arrays, id=f"{one.id}-{arrays}", marks=one.marks)
    for arrays, some in (("numpy", RECORDINGS), ("torch", RECORDINGS[:1]))
    for one in some
]
"""Games that are played step by step; torch takes the steps of all of them at once, in a test of its own."""


@pytest.mark.parametrize(("path", "arrays"), WHOLE)
def test_every_recorded_step_is_reproduced_exactly(path, arrays):
    recording = Recording(path)
    data, world = recording.data, recording.world(recording.episodes, arrays=arrays)
    encodings = dict(zip(data["enc_t"].tolist(), np.moveaxis(data["enc"], 1, 0), strict=True))
    observations = world.restore(recording.state(world, 0))
    shaped = np.zeros((recording.episodes, 2), int)
    for step in range(recording.steps):
        same_state(world, data, step)
        same_encoding(observations, encodings, step)
        observations, reward, terminated, truncated, _ = world.step(data["actions"][:, step])
        np.testing.assert_array_equal(reward, np.repeat(data["sparse"][:, step, None], 2, axis=1))
        points = world.snapshot()["shaped"]
        np.testing.assert_array_equal(points - shaped, data["shaped"][:, step])
        np.testing.assert_array_equal(truncated, data["done"][:, step])
        assert not terminated.any()
        shaped = points
    same_state(world, data, recording.steps)
    same_encoding(observations, encodings, recording.steps)
    assert (world.snapshot()["soups"] * 20 == data["sparse"].sum(1)).all()


def same_state(world, data, step):
    for name, value in rows_of(world).items():
        np.testing.assert_array_equal(value, data[name][:, step], err_msg=f"{name} before step {step}")


def same_encoding(observations, encodings, step):
    if step in encodings:
        np.testing.assert_array_equal(encoding_of(observations), encodings[step], err_msg=f"step {step}")


@pytest.mark.parametrize("path", RECORDINGS)
def test_a_fresh_episode_begins_as_recorded(path):
    recording = Recording(path)
    world = recording.world(recording.episodes)
    world.reset(3)
    same_state(world, recording.data, 0)


@LIBRARIES
@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_state_can_be_restored_and_goes_on_as_recorded(path, arrays):
    recording = Recording(path)
    data = recording.data
    world = recording.world(recording.episodes * recording.steps, observations=("symbols",), arrays=arrays)
    world.restore(recording.state(world, slice(0, recording.steps)))
    _, reward, *_ = world.step(flat(data["actions"]))
    np.testing.assert_array_equal(reward[:, 0], flat(data["sparse"]))
    np.testing.assert_array_equal(world.snapshot()["shaped"], flat(data["shaped"]))
    for name, value in rows_of(world).items():
        np.testing.assert_array_equal(value, flat(data[name][:, 1:]), err_msg=name)


def flat(array):
    """[E, T, ...] -> [E * T, ...]."""
    return array.reshape(-1, *array.shape[2:])
