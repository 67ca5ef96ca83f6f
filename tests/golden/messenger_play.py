"""Random play of MESSENGER, for statistics: only the first episode of each world, so short ones count no more."""

import functools
import re

import numpy as np

from rl_envs.messenger.team_rules import RELEASED
from rl_envs.messenger.world import STEP_LIMITS, Messenger

NUM_ACTIONS = 5


def setting(name):
    """A callable that makes so many worlds, and their limit, by the name of a setting in the recorded statistics."""
    team, stage, limit = re.fullmatch(r"(single|two_agent)_stage(\d)(?:_limit(\d+))?", name).groups()
    agents = 2 if team == "two_agent" else 1
    limit = int(limit or STEP_LIMITS[agents][int(stage) - 1])
    released = list(RELEASED) if agents == 2 else ()
    make = functools.partial(
        Messenger, stage=int(stage), num_agents=agents, released=released, max_episode_steps=limit + 1
    )
    return make, limit


def first_episodes(world, limit, seed):
    """Play uniformly; an episode that is not over after `limit` steps has run out of time.

    Returns:
        [B] float64, the last reward (0 if time ran out); [B] int64, length; [B] bool, not over in time.
    """
    random = np.random.default_rng(seed)
    world.reset(seed)
    last, length = np.zeros(world.num_worlds), np.full(world.num_worlds, limit)
    is_open = np.ones(world.num_worlds, bool)
    for time in range(1, limit + 1):
        _, reward, over, _, _ = world.step(random.integers(NUM_ACTIONS, size=(world.num_worlds, world.num_agents)))
        ends = is_open & over
        last[ends], length[ends] = reward[ends, 0], time
        is_open &= ~over
    return last, length, is_open
