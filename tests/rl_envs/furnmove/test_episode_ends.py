"""FurnMove's episode ends, metrics, and random play beside the slow game."""

import numpy as np
import pytest

from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import (
    APART,
    CARRY_LEFT,
    CARRY_RIGHT,
    FAILED,
    FINE,
    NORTH,
    PASS,
    ROOMS,
    likely_coordinated,
    situation,
)
from tests.rl_envs.furnmove.slow_game import SlowGame


@pytest.mark.parametrize("bootstrap_at_limit", [True, False])
def test_solving_at_the_last_moment_is_an_end_and_no_limit(bootstrap_at_limit):
    arguments = {"max_episode_steps": 1, "bootstrap_at_limit": bootstrap_at_limit}
    world = situation(APART[2], NORTH, stand=(12, 14, 0), **arguments)
    _, _, terminated, truncated, info = world.step(np.full((1, 2), CARRY_RIGHT))
    assert (terminated[0], truncated[0]) == (True, False)
    assert info["episode"]["success"].tolist() == [1.0]


def test_md_spl_and_final_distance_by_hand():
    world = situation(APART[2], NORTH, stand=(12, 15, 0))
    steps = [[PASS, PASS], [CARRY_LEFT, CARRY_LEFT], *[[CARRY_RIGHT, CARRY_RIGHT]] * 3]
    for actions in steps:
        *_, info = world.step(np.array([actions]))
    episode = info["episode"]
    assert episode["start_distance"].tolist() == [3.0]
    assert episode["length"].tolist() == [5.0]
    assert episode["final_distance"].tolist() == [0.25]
    assert episode["md_spl"][0] == pytest.approx(3.0001 / 5.0001, abs=1e-12)


def test_an_episode_shorter_than_its_distance_has_md_spl_one():
    """Solved within one cell, d - 1 steps are enough; the larger of d and the steps counts."""
    world = situation(APART[2], NORTH, stand=(12, 15, 0))
    for _ in range(2):
        *_, info = world.step(np.full((1, 2), CARRY_RIGHT))
    assert info["episode"]["md_spl"].tolist() == [1.0]


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_random_play_goes_as_in_the_slow_game(num_agents):
    random = np.random.default_rng(num_agents)
    world = FurnMove(48, num_agents=num_agents, rooms=ROOMS, max_episode_steps=1000)
    world.auto_resets = False
    world.reset(seed=10 + num_agents)
    state, names = world.state, ("agent_cells", "agent_headings", "tv", "stand")
    games = [SlowGame(ROOMS[state["room"][i]], *(state[name][i] for name in names)) for i in range(48)]
    playing, outcomes = set(range(48)), set()
    for _ in range(80):
        actions = likely_coordinated(world, random)
        _, reward, terminated, *_ = world.step(actions)
        for i in sorted(playing):
            expected, is_solved = games[i].step(actions[i].tolist())
            assert reward[i].tolist() == pytest.approx(expected, abs=1e-9)
            assert terminated[i] == is_solved
            assert state["agent_cells"][i].tolist() == [list(cell) for cell in games[i].agents]
            assert state["agent_headings"][i].tolist() == games[i].headings
            assert state["tv"][i].tolist() == list(games[i].tv)
            assert set(map(tuple, np.argwhere(state["visited"][i]).tolist())) == games[i].visited
            outcomes.update(round(value, 2) for value in expected)
        playing -= set(np.flatnonzero(terminated).tolist())
    bonus = 2 if num_agents > 2 else 1
    assert outcomes == {FINE, FAILED, round(FINE + bonus, 2)}, "the play met every outcome"
