"""Random play of RTFM worlds, for statistics: only the first episode of each world, so short ones count no more."""

import functools

import numpy as np

from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.world import Rtfm

VARIANTS = {
    "simple_static": functools.partial(Rtfm),
    "simple_dyna": functools.partial(Rtfm, dyna=True),
    "group_dyna": functools.partial(Rtfm, group=True, dyna=True),
    "rps": functools.partial(RockPaperScissors),
}
SETTINGS = {f"{name}_{size}": functools.partial(make, size=size) for name, make in VARIANTS.items() for size in (6, 10)}
"""Name of a setting in the recorded statistics -> a callable that makes so many of its worlds."""


def first_episodes(world, mode, seed):
    """Play uniformly over the legal actions (`legal`) or all five (`any`).

    Returns:
        [B] bool, won; [B] float64, length of the episode.
    """
    random = np.random.default_rng(seed)
    observations = world.reset(seed)
    won, length = np.zeros(world.num_worlds, bool), np.zeros(world.num_worlds)
    while not length.all():
        wishes = random.random((world.num_worlds, 1, 5))
        actions = np.where(observations["legal"] | (mode == "any"), wishes, -1).argmax(-1)
        observations, _, _, _, info = world.step(actions)
        done = info["done_worlds"]
        if done.size:
            is_first = length[done] == 0
            won[done[is_first]] = info["episode"]["win_rate"][is_first] == 1
            length[done[is_first]] = info["episode"]["length"][is_first]
    return won, length
