"""The time limit stops an episode as the world's header says: truncated, or in the authors' form terminated."""

import numpy as np
import pytest

from rl_envs import make

BOTH = [("furnmove-v0", 3), ("furnlift-v0", 3), ("overcooked-v0", 4)]
"""Worlds with `bootstrap_at_limit`, and an action that does nothing."""


@pytest.mark.parametrize(
    ("world_id", "idle", "arguments"),
    [
        *(
            (world_id, idle, {"bootstrap_at_limit": bootstraps})
            for world_id, idle in BOTH
            for bootstraps in (True, False)
        ),
        ("salad-v0", 4, {"actions": "primitive"}),
        ("frozen_lake_spread-v0", 3, {}),
    ],
)
def test_the_limit_truncates_unless_the_authors_form_is_asked_for(world_id, idle, arguments):
    world = make(world_id, 2, max_episode_steps=3, **arguments)
    world.reset(0)
    truncates = arguments.get("bootstrap_at_limit", True)
    for number in (1, 2, 3):
        _, _, terminated, truncated, info = world.step(np.full((2, world.num_agents), idle))
        assert (truncated == (number == 3 and truncates)).all()
        assert (terminated == (number == 3 and not truncates)).all()
    assert (info["episode"]["length"] == 3).all()
