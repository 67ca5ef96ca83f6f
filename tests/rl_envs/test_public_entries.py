"""Numbers at public entries: whole numbers of Python and NumPy are taken, and anything else is one sentence."""

import functools

import numpy as np
import pytest

from rl_envs.registry import make
from rl_envs.wrappers import from_pettingzoo
from rl_envs.wrappers.gymnasium import TeamEnv, TeamVectorEnv
from rl_envs.wrappers.pettingzoo import TeamParallelEnv
from rl_envs.wrappers.rllib import TeamMultiAgentEnv
from tests.rl_envs.wrappers.odd_games import Signal

NO_NUMBERS = (None, 1.5, "7", [1], np.float64(2))
WORLD = "matrix_game-v0"


@pytest.mark.parametrize("world_id", [WORLD, "overcooked-v0"])
def test_seed_and_numbers_of_worlds_are_whole_numbers(world_id):
    world = make(world_id, num_worlds=np.int64(2), first_world=np.uint8(1))
    wanted, found = world.reset(3), world.reset(np.int64(3))
    assert all((wanted[key] == found[key]).all() for key in wanted)
    for wrong in NO_NUMBERS:
        with pytest.raises(ValueError, match="seed"):
            world.reset(wrong)
    for count in (0, -1, None):
        with pytest.raises(ValueError, match="num_worlds"):
            make(world_id, num_worlds=count)


@pytest.mark.parametrize("world_id", ["frozen_lake_spread-v0", "furnmove-v0"])
def test_actions_are_integers_of_any_type(world_id):
    world = make(world_id)
    world.reset(0)
    world.step(np.zeros((1, 2), np.uint64))


WRAPPERS = {
    "TeamEnv": lambda: TeamEnv(WORLD),
    "TeamVectorEnv": lambda: TeamVectorEnv(WORLD, np.int32(2)),
    "TeamParallelEnv": lambda: TeamParallelEnv(WORLD),
    "TeamMultiAgentEnv": lambda: TeamMultiAgentEnv({"world": WORLD}),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_take_the_same_seeds(wrapper):
    env = WRAPPERS[wrapper]()
    env.reset(seed=np.int64(3))
    env.reset(seed=None)
    for wrong in (1.5, "7", np.float64(2)):
        with pytest.raises(ValueError, match="seed"):
            env.reset(seed=wrong)


@pytest.mark.parametrize("name", ["num_worlds", "max_episode_steps", "max_words", "max_sentences"])
def test_numbers_of_foreign_worlds_are_whole_numbers(name):
    Signal.opened = Signal.closed = 0
    for wrong in (1.5, "7", -1):
        with pytest.raises(ValueError, match=name):
            from_pettingzoo(functools.partial(Signal), **{name: wrong})
    assert Signal.opened == Signal.closed, "an environment that was built is closed"
    from_pettingzoo(Signal, **{name: np.int64(1)}).close()
