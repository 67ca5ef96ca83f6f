"""What a game is lost to, the one thing that the rules let kill first; and rules for a single agent."""

import numpy as np
import pytest

from rl_envs.messenger.endings import ENDINGS
from rl_envs.messenger.symbols import CHASER, IMMOVABLE
from rl_envs.messenger.world import Messenger
from tests.rl_envs.messenger.scenes import RIGHT, STAY, cells, situation, step

ON, OUT = (5, 5), [(0, 0), (9, 9), (9, 8), (9, 7), (9, 6)]


def ending(world, *actions):
    entities = world.state["entity_places"].shape[1]
    chance = {"entity_moves": np.full((1, entities), STAY)} if world.recorded_draws else {}
    episode = world.step(np.array([actions]), chance)[-1]["episode"]
    return [name for name in ("win_rate", *ENDINGS) if episode[name][0] == 1]


def with_agent_on(*numbers, **arguments):
    entities = [ON if number in numbers else place for number, place in enumerate(OUT)]
    return situation(tuple(entities if arguments["stage"] == 3 else entities[:3]), **arguments)


@pytest.mark.parametrize(
    ("entity", "name"),
    [(0, "lost_to_enemy"), (2, "lost_to_goal"), (3, "lost_to_message_decoy"), (4, "lost_to_goal_decoy")],
)
def test_a_game_is_lost_to_what_kills_the_agent(entity, name):
    assert ending(with_agent_on(entity, stage=3), STAY) == [name]


def test_the_enemy_comes_before_decoys_and_these_before_the_goal():
    assert ending(with_agent_on(0, 2, 3, 4, stage=3), STAY) == ["lost_to_enemy"]
    assert ending(with_agent_on(2, 3, 4, stage=3), STAY) == ["lost_to_message_decoy"]


def test_a_won_game_is_lost_to_nothing_and_a_late_one_to_time():
    assert ending(with_agent_on(2, stage=2, holds=[True]), STAY) == ["win_rate"]
    assert ending(with_agent_on(stage=2, max_episode_steps=1), STAY) == ["lost_to_time"]
    assert ending(with_agent_on(1, stage=2, max_episode_steps=1), STAY) == ["lost_to_time"]


def test_in_stage_1_an_agent_with_the_message_loses_to_the_message():
    assert ending(with_agent_on(1, stage=1, holds=[True]), STAY) == ["lost_to_message"]
    assert ending(with_agent_on(1, stage=1), STAY) == ["win_rate"]


def test_one_of_two_agents_loses_for_both():
    entities = ((0, 0), (9, 9), (9, 8), ON, (9, 7))
    assert ending(situation(entities, avatars=(ON, (1, 1)), stage=3), STAY, STAY) == ["lost_to_goal"]
    waits = situation(entities, avatars=(ON, (1, 1)), holds=[True, False], stage=3, max_episode_steps=1)
    assert ending(waits, STAY, STAY) == ["lost_to_time"]
    harmless = {"stage": 2, "released": ["only_pairs_count"], "max_episode_steps": 1}
    assert ending(situation(entities, avatars=(ON, (1, 1)), **harmless), STAY, STAY) == ["lost_to_time"]


@pytest.mark.parametrize("num_agents", [1, 2])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_every_game_ends_in_exactly_one_way(stage, num_agents):
    world = Messenger(200, stage=stage, num_agents=num_agents, max_episode_steps=12)
    world.reset(0)
    random, ended = np.random.default_rng(0), 0
    for _ in range(30):
        info = world.step(random.integers(5, size=(200, num_agents)))[-1]
        if info["done_worlds"].size:
            ways = sum(info["episode"][name] for name in ("win_rate", *ENDINGS))
            assert (ways == 1).all()
            late = info["episode"]["lost_to_time"] == 1
            assert (info["episode"]["length"][late] == 12).all()
            ended += len(ways)
    assert ended > 200


LOST, WON = (-1, True, False), (1, True, True)


def test_entities_see_where_the_avatar_was_before_the_step():
    walks = set()
    for seed in range(20):
        world = situation(((2, 5), (9, 9), (9, 0)), movements=(CHASER, IMMOVABLE, IMMOVABLE))
        world.chance.key[:] = seed
        world.step(np.array([[RIGHT]]))
        walks.add(cells(world, "entity")[0])
    assert walks == {(2.5, 5)}


def test_a_message_in_the_last_step_is_no_longer_worth_anything():
    world = situation(((0, 0), ON), max_episode_steps=1)
    assert step(world, STAY) == LOST
    world = situation(((0, 0), (9, 9), ON), holds=[True], max_episode_steps=1)
    assert step(world, STAY) == WON
