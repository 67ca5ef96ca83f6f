"""Every number and every flag of every registered world is checked: whole, finite, or True or False."""

import importlib
import inspect
import math

import numpy as np
import pytest

from rl_envs import WORLDS, make

WRONG = {
    "int": (2.5, math.nan, math.inf, True, "2", [2]),
    "float": (math.nan, "1", [1.0]),
    "bool": ("False", 2, [False]),
}
REWARDS = {
    "furnmove-v0": "closer_reward",
    "overcooked-v0": "shaping",
    "rtfm-v0": "team_loss",
    "salad-v0": "collision_reward",
}


def arguments(kind):
    """(world, argument) of all worlds whose argument has this type, or this type or None."""
    for world_id, entry_point in WORLDS.items():
        module, name = entry_point.split(":")
        world = getattr(importlib.import_module(module), name)
        for argument, parameter in inspect.signature(world.__init__).parameters.items():
            if inspect.formatannotation(parameter.annotation).strip("'") in (kind, f"{kind} | None"):
                yield world_id, argument


@pytest.mark.parametrize("kind", WRONG)
def test_every_argument_is_of_its_declared_kind(kind):
    found = list(arguments(kind))
    assert len(found) > 5
    for world_id, argument in found:
        for wrong in WRONG[kind]:
            with pytest.raises(ValueError, match=argument):
                make(world_id, **{argument: wrong})


@pytest.mark.parametrize("world_id", sorted({one for one, argument in arguments("int") if "max_episode" in argument}))
def test_a_time_limit_is_a_whole_number_of_env_steps(world_id):
    for wrong in (0, -1, 2**40, np.float64(3)):
        with pytest.raises(ValueError, match="max_episode_steps"):
            make(world_id, max_episode_steps=wrong)
    world = make(world_id, max_episode_steps=np.int64(3))
    assert type(world.max_episode_steps) is int
    assert world.max_episode_steps == 3


@pytest.mark.parametrize("world_id", REWARDS)
def test_weights_of_rewards_are_finite(world_id):
    for wrong in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=REWARDS[world_id]):
            make(world_id, **{REWARDS[world_id]: wrong})
