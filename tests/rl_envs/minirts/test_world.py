"""Rules of MiniRTS that a reader can check by hand, and what its arguments promise."""

import subprocess
import sys

import numpy as np
import pytest

from rl_envs.minirts.opponents import opponent_of
from rl_envs.minirts.symbols import ARCHER, ARMOUR, CATAPULT, CAVALRY, DRAGON, HALL, MAX_HP, RAW_HIT, SPEARMAN, SWORDMAN
from rl_envs.registry import make


def actions_of(world, random):
    shape = (world.num_worlds, world.num_agents)
    return {name: random.integers(size, size=shape) for name, size in world.action_spec.items()}


@pytest.mark.processes
def test_importing_the_package_does_not_load_numba():
    code = "import sys, rl_envs; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("attacker", "target", "hits"),
    [
        (SPEARMAN, CAVALRY, 12),
        (SPEARMAN, SWORDMAN, 50),
        (ARCHER, DRAGON, 9),
        (CATAPULT, HALL, 24),
        (DRAGON, SPEARMAN, 12),
    ],
)
def test_hits_to_kill_follow_the_damage_table(attacker, target, hits):
    damage = RAW_HIT[attacker, target] - ARMOUR[target]
    assert -(-MAX_HP[target] // damage) == hits


def test_an_opponent_without_a_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no opponent is called 'hard'.*medium_two"):
        opponent_of("hard")


@pytest.mark.slow
def test_random_games_keep_objects_apart_and_money_sound():
    world, random = make("minirts-v0", 20, opponents=["medium", "strong"], extra_units=8), np.random.default_rng(2)
    world.reset(4)
    for _ in range(60):
        world.step(actions_of(world, random))
        state = world.state
        assert (state["money"] >= 0).all()
        for row in range(world.num_worlds):
            count = state["num_units"][row]
            place = np.stack([state["unit_x"][row, :count], state["unit_y"][row, :count]], 1).astype(float)
            inside = (place >= -0.5).all(1)
            apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
            same = inside[:, None] == inside[None]
            np.fill_diagonal(same, False)
            assert (apart[same] > 0.7199).all()


@pytest.mark.slow
def test_a_state_in_words_holds_every_listed_number():
    from rl_envs.minirts.text import DESCRIBED, describe, read

    world, random = make("minirts-v0", 4, opponents="strong"), np.random.default_rng(3)
    observations = world.reset(5)
    for _ in range(30):
        observations = world.step(actions_of(world, random))[0]
        for row in range(world.num_worlds):
            one = {name: value[row, 0] for name, value in observations.items()}
            again = read(describe(one))
            for name in DESCRIBED:
                np.testing.assert_array_equal(again[name], one[name], err_msg=name)


@pytest.mark.slow
def test_a_frame_shows_the_map_beside_the_numbers():
    world = make("minirts-v0", 1)
    world.reset(0)
    frame = world.render(0)
    assert frame.dtype == np.uint8
    assert frame.shape[0] >= 512 and frame.shape[1] == 512 + 230
