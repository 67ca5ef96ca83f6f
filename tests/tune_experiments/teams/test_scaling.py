"""What networks read of an observation: each entry is divided by its own largest value, if that is of use."""

import functools

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rl_envs import make
from rl_envs.wrappers import from_pettingzoo
from rl_models.networks.network_config import PartsConfig
from rl_models.networks.network_needs import fitted
from rl_models.networks.parts import Scaling
from tests.rl_envs.wrappers.odd_games import Signal
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.teams.observations import MAX_DIVISOR, make_parts, scaling_notes

EXPERIMENT = find_experiment("train")
SMOKE = EXPERIMENT.presets["smoke"]
HUGE = float(np.finfo(np.float32).max)


def part_of(space):
    def change(env, answer):
        answer[0] = {name: env.observation_space(name).sample() for name in answer[0]}
        return answer

    world = from_pettingzoo(functools.partial(Signal, change, observation=space))
    return next(part for part in make_parts(world) if part.key == "observation")


def box(*highs, low=0.0):
    return spaces.Box(np.full(len(highs), low, np.float32), np.array(highs, np.float32))


@pytest.mark.parametrize(
    ("space", "scale"),
    [
        (box(4, 4), 4.0),
        (box(1, HUGE), [1.0, 0.0]),
        (box(1, np.inf, 5), [1.0, 0.0, 5.0]),
        (box(1, 1e6), [1.0, 0.0]),
        (box(1, MAX_DIVISOR), [1.0, MAX_DIVISOR]),
        (box(2, 2, low=-8), 8.0),
        (box(0, 3), [1.0, 3.0]),
        (spaces.Box(-np.inf, np.inf, (2,)), 0.0),
        (spaces.Box(0, 255, (4, 4, 3), np.uint8), 255.0),
        (spaces.Box(0, 65535, (4, 4, 1), np.uint16), 65535.0),
        (spaces.Box(0, np.tile(np.array([1, 200], np.float32), (4, 4, 1)), (4, 4, 2)), [1.0, 200.0]),
        (spaces.Box(0, np.array([1, 200], np.float32)[:, None, None].repeat(16, 1).repeat(16, 2)), [1.0, 200.0]),
        (spaces.MultiBinary(3), 1.0),
        ({"left": box(1, 2, 5), "right": box(3, 50)}, [3.0, 0.0, 5.0]),
    ],
)
def test_an_entry_has_a_divisor_of_its_own_and_none_where_its_bound_says_little(space, scale):
    np.testing.assert_array_equal(part_of(space).scale, scale)


@pytest.mark.parametrize(
    ("space", "is_noted"), [(box(10_000, low=9_990), True), (box(1, 1, low=0.5), False), (box(5, 5, low=5), False)]
)
def test_bounds_close_together_and_far_from_0_are_noted(space, is_noted, monkeypatch):
    world = from_pettingzoo(functools.partial(Signal, observation=space))
    monkeypatch.setattr("tune_experiments.teams.observations.example_world", lambda config: world)
    assert ["subtract" in note for note in scaling_notes(SMOKE)] == [True] * is_noted


@pytest.mark.parametrize(
    ("shape", "is_image", "planes_first"),
    [((4, 84, 84), True, True), ((1, 84, 84), True, True), ((84, 84, 3), True, False), ((5, 7, 9), True, False)],
)
def test_frames_with_their_channels_first_are_images_of_few_channels(shape, is_image, planes_first):
    part = part_of(spaces.Box(0, 255, shape, np.uint8))
    assert (part.is_image, part.planes_first) == (is_image, planes_first)


@pytest.mark.parametrize("shape", [(3, 16, 16), (16, 16, 3)])
def test_an_image_that_is_read_as_numbers_keeps_the_divisors_of_its_channels(shape):
    most = np.array([1, 2, 255], np.float32).reshape(-1, 1, 1) if shape[0] == 3 else np.float32([1, 2, 255])
    space = spaces.Box(0, np.broadcast_to(most, shape), dtype=np.float32)
    _, (part,) = fitted(PartsConfig(name="mlp"), [part_of(space)])
    np.testing.assert_array_equal(part.scale, space.high)


@pytest.mark.long
@pytest.mark.parametrize(("seen", "planes_first"), [("view", True), ("frame", False)])
def test_views_of_this_package_have_their_channels_first_and_frames_of_cameras_last(seen, planes_first):
    (part,) = make_parts(make("furnlift-v0", num_worlds=1, observations=(seen,)))
    assert (part.is_image, part.planes_first) == (True, planes_first)


def test_numbers_without_a_divisor_stay_up_to_ten_and_grow_with_their_logarithm_beyond():
    numbers = torch.tensor([-2.5, 0.0, 9.9, 10.0, -11.0, 1e6, -3.4e38])
    read = Scaling(0.0)(numbers)
    torch.testing.assert_close(read[:4], numbers[:4], rtol=0, atol=0)
    assert read[4] == pytest.approx(-10 - np.log(2))
    assert read[5] == pytest.approx(10 + np.log(1e6 - 9), rel=1e-4)
    assert torch.isfinite(read).all()
    steps = Scaling(0.0)(torch.linspace(-40, 40, 801)).diff()
    assert (steps > 0).all()
    mixed = Scaling(np.array([4.0, 0.0]))(torch.tensor([[2.0, 2.0], [4.0, 1e6]]))
    assert mixed[:, 0].tolist() == [0.5, 1.0]
    assert mixed[0, 1] == 2.0
