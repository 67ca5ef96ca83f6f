"""How entities move: chasers and fleers take every direction that serves, equally often (MESSENGER, section 3)."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from rl_envs.messenger.movements import DRAWS, WANDERING, Walk, nearer_of_two, single_variants, team_variants
from rl_envs.messenger.stages import SINGLE_PACE, TEAM_PACE
from rl_envs.messenger.symbols import CHASER, FLEEING, IMMOVABLE, STAY, STEPS, UNKNOWN
from rl_envs.messenger.world import Messenger

SIGNS = list(product((-1, 0, 1), repeat=2))


def chances(walk, movement, signs):
    """Probability of each action."""
    counts = np.bincount(walk.table[movement, signs[0] + 1, signs[1] + 1], minlength=5)
    return [Fraction(int(count), DRAWS) for count in counts]


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("pace", [SINGLE_PACE, TEAM_PACE])
def test_chasers_come_closer_and_fleers_go_away_uniformly(pace, signs):
    place, avatar = np.array([4, 4]), np.array([4, 4]) + 3 * np.array(signs)
    before = abs(avatar - place).sum()
    after = [abs(avatar - place - step).sum() for step in STEPS[:STAY]]
    for movement, serves in ((CHASER, np.less), (FLEEING, np.greater)):
        good = [bool(serves(distance, before)) for distance in after] if before else [True] * 4
        expected = [pace * is_good / sum(good) for is_good in good]
        assert chances(Walk(pace), movement, signs) == [*expected, 1 - pace]


@pytest.mark.parametrize("signs", SIGNS)
def test_immovable_entities_stay_and_wanderers_try_each_direction_once_in_eleven(signs):
    walk = Walk(TEAM_PACE)
    assert chances(walk, IMMOVABLE, signs) == [0, 0, 0, 0, 1]
    assert chances(walk, UNKNOWN, signs) == [Fraction(1, 11)] * 4 + [1 - WANDERING]


def test_a_step_is_chosen_from_where_entity_and_avatar_are():
    walk, random = Walk(SINGLE_PACE), np.random.default_rng(0)
    places, prey = random.integers(19, size=(2000, 5, 2)), 2 * random.integers(10, size=(2000, 1, 2))
    movements, uniforms = random.integers(3, size=(2000, 5)).astype(np.uint8), random.random((2000, 5))
    actions = walk.choose(movements, places, prey, uniforms)
    before = abs(prey - places).sum(-1)
    after = abs(prey - places - np.array(STEPS)[actions]).sum(-1)
    apart = before > 0
    assert (after < before)[apart & (movements == CHASER)].all()
    assert (after > before)[apart & (movements == FLEEING)].all()
    assert (actions == STAY)[movements == IMMOVABLE].all()


def test_stage_1_does_not_move_and_stage_2_has_each_movement_once():
    assert single_variants(1, "train").tolist() == [[IMMOVABLE] * 3]
    for split in ("train", "train_mc", "train_sc", "val", "test_se"):
        assert {tuple(row) for row in single_variants(2, split).tolist()} == set(permutations(range(3)))


def test_stage_2_of_the_test_split_has_new_dynamics():
    assert {tuple(row) for row in single_variants(2, "test").tolist()} == set(product(range(3), repeat=3))


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_stage_3_has_18_combinations_and_decoys_move_unlike_what_they_imitate(split):
    rows = {tuple(row) for row in single_variants(3, split).tolist()}
    assert rows == {
        row
        for row in product(range(3), repeat=5)
        if len(set(row[:3])) == 3 and row[3] != row[1] and row[4] != row[2] and row[3] != row[4]
    }
    assert len(rows) == len(single_variants(3, split)) == 18


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("split", ["train", "test"])
def test_two_messages_and_two_goals_move_alike(stage, split):
    rows = team_variants(stage, split, wanders=False)
    np.testing.assert_array_equal(rows[:, [0, 1, 3]], single_variants(min(stage, 2), split))
    np.testing.assert_array_equal(rows[:, [1, 3]], rows[:, [2, 4]])
    assert team_variants(stage, split, wanders=True).tolist() == [[IMMOVABLE if stage == 1 else UNKNOWN] * 5]


def test_with_two_agents_the_nearer_one_counts_and_a_tie_is_broken_by_chance():
    random = np.random.default_rng(1)
    places, avatars = 2 * random.integers(10, size=(500, 5, 2)), 2 * random.integers(10, size=(500, 2, 2))
    distance = abs(places[:, :, None] - avatars[:, None]).sum(-1)
    for uniform, of_ties in ((0.0, 1), (0.999, 0)):
        chosen = nearer_of_two(places, avatars, np.full((500, 5), uniform))
        second = (distance[..., 1] < distance[..., 0]) | ((distance[..., 0] == distance[..., 1]) & (of_ties == 1))
        np.testing.assert_array_equal(chosen, np.where(second[..., None], avatars[:, 1:], avatars[:, :1]))


@pytest.mark.parametrize("draw", [np.full((2, 3), 5), np.full((2, 3), -1), np.zeros((2, 4), int), np.zeros((2, 3))])
def test_recorded_moves_that_are_none_are_refused(draw):
    world = Messenger(2, stage=2)
    world.reset(0)
    with pytest.raises(ValueError, match="entity_moves"):
        world.step(np.full((2, 1), STAY), {"entity_moves": draw})
    with pytest.raises(ValueError, match="draw"):
        still = Messenger(2)
        still.reset(0)
        still.step(np.full((2, 1), STAY), {"entity_moves": np.zeros((2, 3), int)})
