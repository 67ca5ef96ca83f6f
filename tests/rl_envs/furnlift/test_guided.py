"""FurnLift in which an expert takes over: when it acts, and that the game stays the same."""

import numpy as np

from rl_envs.furnlift.guided import GuidedFurnLift
from rl_envs.furnlift.world import FurnLift

ROOMS = {"rooms": "train", "room_size": "laptop", "max_episode_steps": 40}


def test_an_expert_that_always_acts_solves_every_episode_whatever_the_team_chooses():
    world, successes = GuidedFurnLift(8, 0, 1.0, 10**9, **ROOMS), []
    world.reset(0)
    for _ in range(60):
        *_, info = world.step(np.full((8, 2), 3))
        successes += info["episode"]["success"].tolist() if info["done_worlds"].size else []
    assert len(successes) >= 8 and all(successes)


def test_after_the_decline_the_team_plays_the_plain_game():
    guided, plain = GuidedFurnLift(4, 0, 1.0, 1e-9, **ROOMS), FurnLift(4, 0, shows_expert=True, **ROOMS)
    random = np.random.default_rng(0)
    for world in (guided, plain):
        world.reset(2)
        world.next_episode()
    for _ in range(30):
        actions = random.integers(5, size=(4, 2))
        ours, theirs = guided.step(actions), plain.step(actions)
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_equal(ours[0], theirs[0])


def test_the_experts_share_falls_over_episodes_by_one_coin_for_both():
    world, shares = GuidedFurnLift(400, 0, 0.9, 10, **ROOMS), []
    for episode in (0, 5, 9):
        world.chance.episode[:] = episode
        world.chance.step[:] = 1
        coins = world.expert_acts()
        assert coins.shape == (400,)
        shares.append(coins.mean())
    np.testing.assert_allclose(shares, [0.9, 0.45, 0.09], atol=0.07)
