"""What agents see, against a plain reading of the state, moment by moment."""

import numpy as np
import pytest

from rl_envs.messenger.world import Messenger

CASES = [
    {"stage": 1},
    {"stage": 2, "frames": 1},
    {"stage": 3, "frames": 3},
    {"stage": 1, "num_agents": 2},
    {"stage": 3, "num_agents": 2, "frames": 4},
]


def grid(world, row):
    """What there is to see in one world now: sorted (cell, symbol) of entities, and of avatars in their order."""
    state = {name: value[row] for name, value in world.state.items()}
    entities = [
        (int(place[0]) // 2 * 10 + int(place[1]) // 2, int(symbol))
        for place, symbol, is_here in zip(
            state["entity_places"], state["entity_symbols"], state["entity_here"], strict=True
        )
        if is_here
    ]
    avatars = [
        (int(place[0]) // 2 * 10 + int(place[1]) // 2, 16 if holds else 15) if is_alive else (0, 0)
        for place, holds, is_alive in zip(
            state["avatar_places"], state["has_message"], state["avatar_alive"], strict=True
        )
    ]
    return sorted(entities), avatars


@pytest.mark.parametrize("arguments", CASES, ids=str)
def test_every_moment_shows_what_was_there(arguments):
    world, frames = Messenger(30, **arguments), arguments.get("frames", 3)
    seen = world.reset(2)
    world.auto_resets = False
    history = [[grid(world, row)] * frames for row in range(30)]
    random = np.random.default_rng(0)
    for _ in range(20):
        for row in range(30):
            for agent in range(world.num_agents):
                tokens = {key: value[row, agent] for key, value in seen.items()}
                for moment, (entities, avatars) in enumerate(history[row]):
                    shown = list(zip(tokens["cells"][moment], tokens["symbols"][moment], strict=True))
                    assert shown == [*entities[::-1], *[(0, 0)] * (len(shown) - len(entities))], "their roles show"
                    own_first = [avatars[(agent + n) % len(avatars)] for n in range(len(avatars))]
                    assert (
                        list(zip(tokens["agent_cells"][moment], tokens["agent_symbols"][moment], strict=True))
                        == own_first
                    )
        seen, _, over, _, _ = world.step(random.integers(5, size=(30, world.num_agents)))
        for row in range(30):
            history[row] = [*history[row][1:], grid(world, row)]
        if over.any():
            seen = world.next_episode(np.flatnonzero(over))
            for row in np.flatnonzero(over):
                history[row] = [grid(world, row)] * frames
