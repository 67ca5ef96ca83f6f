"""Rules of MiniRTS that a reader can check by hand, and what its arguments promise."""

import numpy as np
import pytest

from rl_envs.minirts.actions import action_tables
from rl_envs.minirts.batch import Player
from rl_envs.minirts.game import GAME_NAMES
from rl_envs.minirts.tick import RUNNING
from rl_envs.minirts.world import DECISION_TICKS, MiniRts
from rl_envs.registry import make
from tests.rl_envs.minirts.test_restored_states import NEEDED


def actions_of(world, random):
    shape = (world.num_worlds, world.num_agents)
    return {name: random.integers(size, size=shape) for name, size in world.action_spec.items()}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_random_games_keep_objects_apart_and_money_as_a_ledger_has_it(number):
    from tests.rl_envs.minirts.random_games import MAX_TICKS, play

    ticks, objects = play(number)
    assert 50 <= ticks <= MAX_TICKS and objects > 8


@pytest.mark.slow
def test_single_ticks_play_the_same_game_as_whole_decisions():
    worlds = [make("minirts-v0", 2, opponents=["medium", "strong"], agents_per_side=2) for _ in range(2)]
    random, player, rows = np.random.default_rng(3), Player(2), range(2)
    for world in worlds:
        world.reset(6)
    for _ in range(12):
        actions = actions_of(worlds[0], random)
        worlds[0].step(actions)
        tables, continues = action_tables("collective", actions), actions["continue_all"].astype(np.int8)
        for row in rows:
            for _ in range(DECISION_TICKS):
                player.tick(worlds[1].games, row, tables[row], continues[row])
        for name in GAME_NAMES:
            np.testing.assert_array_equal(worlds[0].games[name], worlds[1].games[name], err_msg=name)


@pytest.mark.slow
def test_a_state_without_scripts_is_played_against_the_worlds_opponent():
    world, other = (make("minirts-v0", 2, opponents="medium_dragon", oracle=True) for _ in range(2))
    world.reset(0)
    state = world.snapshot()
    other.restore({name: state[name] for name in NEEDED})
    for name in ("script_kind", "script_forced", "oracle"):
        np.testing.assert_array_equal(other.state[name], state[name])
    assert other.state["twister"].any()


@pytest.mark.slow
def test_a_match_is_drawn_from_its_start_to_its_end():
    frames = list(MiniRts.match_frames(["medium_dragon", "passive"], seed=2, every_ticks=500))
    world = make("minirts-v0", 1, own_script="medium_dragon", opponents="passive")
    world.auto_resets = False
    world.reset(2)
    while world.games["result"][0] == RUNNING:
        world.step(actions_of(world, np.random.default_rng(0)))
    assert {frame.shape for frame in frames} == {frames[0].shape}
    ticks = int(world.state["tick"][0])
    assert len(frames) == 1 + ticks // 500 + (ticks % 500 > 0)
    assert (frames[0] != frames[-1]).any()


@pytest.mark.slow
def test_a_snapshot_holds_learned_distances_without_gaps_and_its_copy_plays_the_same_game():
    world, random = make("minirts-v0", 2, extra_units=8), np.random.default_rng(4)
    world.reset(1)
    for _ in range(30):
        world.step(actions_of(world, random))
    before, copy = world.snapshot(), make("minirts-v0", 2, extra_units=8)
    assert before["learned_key"].shape[1] == world.state["num_learned"].max() > 100
    copy.restore(before)
    np.testing.assert_equal(copy.snapshot(), before)
    for _ in range(30):
        actions = actions_of(world, random)
        observations, copied = world.step(actions)[0], copy.step(actions)[0]
        np.testing.assert_equal(copied, observations)
    np.testing.assert_equal(copy.snapshot(), world.snapshot())


@pytest.mark.slow
def test_a_checkpoint_of_64_games_is_under_32_megabytes_and_learned_distances_are_sparse():
    scripts = make("minirts-v0", 64, own_script="medium", opponents=["medium", "strong", "simple"])
    random = make("minirts-v0", 64)
    for world, decisions in ((scripts, 60), (random, 60)):
        world.reset(0)
        for _ in range(decisions):
            world.step(actions_of(world, np.random.default_rng(0)))
        assert sum(value.nbytes for value in world.snapshot().values()) < 32e6
    assert scripts.games.learned.nbytes / 64 <= 1e6
