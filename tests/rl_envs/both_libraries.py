"""Plays the same worlds in NumPy and in torch, and compares all that they return."""

import functools

import numpy as np
import torch

from rl_envs import make
from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import likely_coordinated


def both(env, num_worlds, **arguments):
    """The same worlds in NumPy and in torch."""
    return [make(env, num_worlds, arrays=arrays, **arguments) for arrays in ("numpy", "torch")]


def at_random(world):
    """A callable that draws actions, for FurnMove such as move the furniture."""
    random = np.random.default_rng(0)
    if isinstance(world, FurnMove):
        return functools.partial(likely_coordinated, world, random)
    return lambda: random.integers(world.action_spec, size=(world.num_worlds, world.num_agents))


def same(expected, found):
    """Two dicts of arrays are equal in names, types and values."""
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        value, other = np.asarray(value), np.asarray(found[name])
        assert value.dtype == other.dtype and np.array_equal(value, other), name


def same_step(worlds, actions):
    """Step both, and compare all that a step returns; whether an episode ended."""
    expected, found = worlds[0].step(actions), worlds[1].step(torch.from_numpy(actions))
    same(expected[0], found[0])
    same(dict(enumerate(expected[1:4])), dict(enumerate(found[1:4])))
    info, done = found[4], expected[4]["done_worlds"]
    assert np.array_equal(info["ended"].nonzero()[:, 0], done)
    assert np.array_equal(info["duration"], expected[4]["duration"])
    for name in ("final_obs", "episode") if done.size else ():
        same(expected[4][name], {key: value[done] for key, value in info[name].items()})
    return bool(done.size)


def play(worlds, steps, choose):
    """Play both with the same actions; how many steps ended an episode."""
    same(*(world.reset(3) for world in worlds))
    ends = sum(same_step(worlds, choose()) for _ in range(steps))
    same(*(world.snapshot() for world in worlds))
    return ends
